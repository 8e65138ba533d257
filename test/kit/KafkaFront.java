import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The produce call of a Kafka REST proxy, version 2, binary format, in front of a real broker. It answers as Strimzi's Kafka Bridge 0.32
 * does: errors of the broker stand inside a 200. It makes its topic where that is missing.
 * Arguments: port, broker, user:password, topic.
 */
class KafkaFront {
  static final String BINARY = "application/vnd.kafka.binary.v2+json";
  static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] arguments) throws Exception {
    try (var admin = Admin.create(Map.<String, Object>of("bootstrap.servers", arguments[1]))) {
      var topic = new NewTopic(arguments[3], 1, (short) 1);
      if (!admin.listTopics().names().get().contains(topic.name())) admin.createTopics(List.of(topic)).all().get();
    }
    Map<String, Object> settings =
        Map.of("bootstrap.servers", arguments[1], "acks", "all", "max.block.ms", 2000, "delivery.timeout.ms", 3000, "request.timeout.ms", 2000, "linger.ms", 0);
    var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    String credentials = "Basic " + Base64.getEncoder().encodeToString(arguments[2].getBytes());
    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 100);
    server.setExecutor(Executors.newFixedThreadPool(20));
    server.createContext("/", exchange -> answer(exchange, 404, JSON.createObjectNode().put("error_code", 404).put("message", "Not Found")));
    server.createContext("/topics/", exchange -> {
      if (!credentials.equals(exchange.getRequestHeaders().getFirst("Authorization"))) {
        answer(exchange, 401, JSON.createObjectNode().put("error_code", 401).put("message", "Unauthorized"));
      } else if (!BINARY.equals(exchange.getRequestHeaders().getFirst("Content-Type"))) {
        answer(exchange, 415, JSON.createObjectNode().put("error_code", 415).put("message", "Unsupported Media Type"));
      } else {
        produce(producer, exchange);
      }
    });
    server.start();
  }

  static void produce(KafkaProducer<byte[], byte[]> producer, HttpExchange exchange) throws java.io.IOException {
    String topic = exchange.getRequestURI().getPath().substring("/topics/".length());
    var result = JSON.createObjectNode();
    try {
      var offsets = result.putArray("offsets");
      for (JsonNode record : JSON.readTree(exchange.getRequestBody()).get("records")) {
        var made = new ProducerRecord<>(topic, record.get("key").binaryValue(), record.get("value").binaryValue());
        for (JsonNode header : record.path("headers")) made.headers().add(header.get("key").asText(), header.get("value").binaryValue());
        try {
          var metadata = producer.send(made).get();
          offsets.addObject().put("partition", metadata.partition()).put("offset", metadata.offset());
        } catch (ExecutionException failed) {
          offsets.addObject().put("error_code", codeOf(failed.getCause())).put("message", failed.getCause().getMessage());
        }
      }
      answer(exchange, 200, result);
    } catch (Exception failed) {
      answer(exchange, 422, JSON.createObjectNode().put("error_code", 422).put("message", String.valueOf(failed.getMessage())));
    }
  }

  static int codeOf(Throwable failed) {
    boolean isMissing = failed instanceof UnknownTopicOrPartitionException || failed instanceof TimeoutException || failed instanceof InvalidTopicException;
    return isMissing ? 404 : 500;
  }

  static void answer(HttpExchange exchange, int status, JsonNode body) throws java.io.IOException {
    byte[] bytes = JSON.writeValueAsBytes(body);
    exchange.getResponseHeaders().set("Content-Type", "application/vnd.kafka.v2+json");
    exchange.sendResponseHeaders(status, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }
}
