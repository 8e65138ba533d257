import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.AuthenticationFactory;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.PulsarClient;

/** Prints each message of a topic as a line: payload and the three headers in base64. Arguments: broker URL, topic, token. */
class PulsarReader {
  public static void main(String[] arguments) throws Exception {
    var authentication = AuthenticationFactory.token(arguments[2]);
    var client =
        PulsarClient.builder()
            .serviceUrl(arguments[0])
            .authentication(authentication)
            .maxBackoffInterval(1, TimeUnit.SECONDS)
            .build();
    // A reader, no subscription: an acknowledgement that the broker had not written yet would come again after its restart.
    var reader = client.newReader().topic(arguments[1]).startMessageId(MessageId.earliest).create();
    while (true) {
      var message = reader.readNext();
      var line = new StringBuilder(encode(message.getData()));
      for (String name : List.of("webhook-id", "webhook-timestamp", "webhook-signature")) {
        line.append(' ').append(encode(message.getProperty(name).getBytes(StandardCharsets.UTF_8)));
      }
      if (!message.getKey().equals(message.getProperty("webhook-id"))) throw new IllegalStateException("another key");
      System.out.println("message " + line);
    }
  }

  static String encode(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }
}
