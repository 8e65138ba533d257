import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Prints each record of a topic as a line: value and the three headers in base64. Arguments: broker, topic. */
class KafkaReader {
  public static void main(String[] arguments) {
    Map<String, Object> settings = Map.of("bootstrap.servers", arguments[0], "enable.auto.commit", false, "auto.offset.reset", "earliest");
    var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    consumer.assign(List.of(new TopicPartition(arguments[1], 0)));
    while (true) {
      for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) print(record);
    }
  }

  static void print(ConsumerRecord<byte[], byte[]> record) {
    var line = new StringBuilder(encode(record.value()));
    for (String name : List.of("webhook-id", "webhook-timestamp", "webhook-signature")) {
      line.append(' ').append(encode(record.headers().lastHeader(name).value()));
    }
    byte[] id = record.headers().lastHeader("webhook-id").value();
    if (!new String(record.key(), StandardCharsets.UTF_8).equals(new String(id, StandardCharsets.UTF_8))) throw new IllegalStateException("another key");
    System.out.println(line);
  }

  static String encode(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }
}
