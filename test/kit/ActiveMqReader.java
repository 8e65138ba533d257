import java.nio.charset.StandardCharsets;
import java.util.Base64;
import javax.jms.DeliveryMode;
import javax.jms.MessageConsumer;
import javax.jms.Session;
import javax.jms.TextMessage;
import org.apache.activemq.ActiveMQConnectionFactory;

/** Prints each message of a queue as a line: text, webhook-id, webhook-timestamp and webhook-signature in base64. Arguments: URL, queue. */
class ActiveMqReader {
  public static void main(String[] arguments) throws Exception {
    var connection = new ActiveMQConnectionFactory(arguments[0]).createConnection();
    connection.start();
    Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
    MessageConsumer consumer = session.createConsumer(session.createQueue(arguments[1]));
    System.out.println("ready");
    while (true) {
      TextMessage message = (TextMessage) consumer.receive();
      String id = message.getStringProperty("webhook-id");
      if (message.getJMSDeliveryMode() != DeliveryMode.PERSISTENT) throw new Exception("not persistent");
      if (!id.equals(message.getJMSCorrelationID())) throw new Exception("another correlation id");
      String[] parts = {message.getText(), id, message.getStringProperty("webhook-timestamp"), message.getStringProperty("webhook-signature")};
      StringBuilder line = new StringBuilder();
      for (String part : parts) {
        line.append(Base64.getEncoder().encodeToString(part.getBytes(StandardCharsets.UTF_8))).append(' ');
      }
      System.out.println(line.toString().trim());
    }
  }
}
