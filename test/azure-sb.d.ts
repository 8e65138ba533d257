/** What the tests use of the package, which has no types of its own. */
declare module "azure-sb" {
  interface ServiceBusService {
    sendQueueMessage(queue: string, message: object, done: (error: Error | null) => void): void;
  }
  const azure: { createServiceBusService(connectionString: string): ServiceBusService };
  export default azure;
}
