import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.stream.Collectors;
import software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider;
import software.amazon.awssdk.http.ContentStreamProvider;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.auth.aws.signer.AwsV4HttpSigner;
import software.amazon.awssdk.protocols.jsoncore.JsonNode;

/** Logs in to cloud-auth with the AWS credentials of this process, and renews the token once. */
public final class Login {
  private static final String STS_URL = "https://sts.amazonaws.com/";
  private static final String STS_BODY = "Action=GetCallerIdentity&Version=2011-06-15";
  private static final String BASE = System.getenv("BASE");
  private static final HttpClient HTTP =
      HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();

  private static JsonNode post(String path, String json, String token) throws Exception {
    var request =
        HttpRequest.newBuilder(URI.create(BASE + "/" + path))
            .timeout(Duration.ofSeconds(15))
            .POST(HttpRequest.BodyPublishers.ofString(json));
    if (token != null) request.header("X-Vault-Token", token);
    var answer = HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() != 200)
      throw new IllegalStateException(path + ": " + answer.statusCode() + " " + answer.body());
    return JsonNode.parser().parse(answer.body()).field("auth").orElseThrow();
  }

  private static String encode(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes());
  }

  private static String quote(String text) {
    return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
  }

  private static String object(Map<String, String> members) {
    return members.entrySet().stream()
        .map(member -> quote(member.getKey()) + ":" + quote(member.getValue()))
        .collect(Collectors.joining(",", "{", "}"));
  }

  /** Signs a request for STS, and sends the signed request to cloud-auth. */
  private static JsonNode logIn() throws Exception {
    try (var provider = DefaultCredentialsProvider.builder().build()) {
      var credentials = provider.resolveCredentials();
      var request = SdkHttpRequest.builder().method(SdkHttpMethod.POST).uri(URI.create(STS_URL));
      var signed =
          AwsV4HttpSigner.create()
              .sign(
                  order ->
                      order
                          .identity(credentials)
                          .request(request.build())
                          .payload(ContentStreamProvider.fromUtf8String(STS_BODY))
                          .putProperty(AwsV4HttpSigner.SERVICE_SIGNING_NAME, "sts")
                          .putProperty(AwsV4HttpSigner.REGION_NAME, "us-east-1"));
      var headers =
          signed.request().headers().entrySet().stream()
              .collect(Collectors.toMap(Map.Entry::getKey, header -> header.getValue().get(0)));
      var mount = System.getenv().getOrDefault("MOUNT", "cloud");
      return post(
          "auth/" + mount + "/login",
          object(
              Map.of(
                  "role", System.getenv("ROLE"),
                  "iam_http_request_method", "POST",
                  "iam_request_url", encode(STS_URL),
                  "iam_request_body", encode(STS_BODY),
                  "iam_request_headers", encode(object(headers)))),
          null);
    }
  }

  private static String seconds(JsonNode auth) {
    return auth.field("lease_duration").orElseThrow().asNumber();
  }

  public static void main(String[] arguments) throws Exception {
    var first = logIn();
    // a long-running program renews at two thirds of the lifetime, and logs in again when a renewal fails
    var renewed =
        post("auth/token/renew-self", "{}", first.field("client_token").orElseThrow().text());
    System.out.printf(
        "logged in for %s s with %s, renewed for %s s%n",
        seconds(first), first.field("policies").orElseThrow(), seconds(renewed));
  }
}
