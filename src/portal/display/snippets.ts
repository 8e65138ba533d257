/**
 * Receivers that verify, in six languages with the published libraries of Standard Webhooks, and in some
 * twenty lines without one. Each is a whole program, with the reader's own endpoint in it. The secret comes
 * from the environment: it does not belong in code.
 */
export interface Snippet {
  key: "javascript" | "python" | "go" | "rust" | "java" | "php" | "plain" | "plain_php";
  /** Of the programming language, the same in every language of ours. */
  name: string;
  /** The command that gets the library; null: it does without. */
  install: string | null;
  write: (receiver: Receiver) => string;
}

/** What is filled in. */
export interface Receiver {
  /** Where deliveries are sent to; stands in a comment. */
  address: string;
  /** Of its address, for routers: "/webhooks". Characters that end a string are percent-encoded. */
  path: string;
}

const USUAL: Receiver = { address: "https://example.com/webhooks", path: "/webhooks" };

/** Of an endpoint's address, or an example where it has none. */
export function receiverOf(url: string | null): Receiver {
  const found = url === null ? null : URL.parse(url);
  if (found === null) return USUAL;
  return {
    address: found.origin + found.pathname,
    path: found.pathname.replaceAll("'", "%27").replaceAll("$", "%24"),
  };
}

/** Named apart: what a snippet imports is no import of ours. */
const LIBRARY = '"standardwebhooks"';

export const SNIPPETS: readonly [Snippet, ...Snippet[]] = [
  { key: "javascript", name: "JavaScript", install: "npm install standardwebhooks", write: javascript },
  { key: "python", name: "Python", install: "pip install standardwebhooks", write: python },
  {
    key: "go",
    name: "Go",
    install: "go get github.com/standard-webhooks/standard-webhooks/libraries",
    write: go,
  },
  {
    key: "rust",
    name: "Rust",
    install: "cargo add standardwebhooks axum && cargo add tokio --features full",
    write: rust,
  },
  {
    key: "java",
    name: "Java",
    install: "implementation 'com.standardwebhooks:standardwebhooks:1.2.0'",
    write: java,
  },
  { key: "php", name: "PHP", install: "composer require standard-webhooks/standard-webhooks", write: php },
  { key: "plain", name: "JavaScript", install: null, write: plain },
  { key: "plain_php", name: "PHP", install: null, write: plainPhp },
];

function javascript({ address }: Receiver): string {
  return `import { createServer } from "node:http";
import { Webhook } from ${LIBRARY};

// Receives ${address}
const webhook = new Webhook(process.env.WEBHOOK_SECRET);

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  // The body as it came: parsed and written again it would not verify.
  const body = Buffer.concat(chunks).toString();
  let event;
  try {
    event = webhook.verify(body, request.headers);
  } catch {
    return response.writeHead(401).end();
  }
  // The webhook-id is the same when a delivery comes again: drop what you have.
  console.log(request.headers["webhook-id"], event.type, event.data);
  response.writeHead(204).end();
}).listen(process.env.PORT ?? 8000);
`;
}

function python({ address }: Receiver): string {
  return `import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

# Receives ${address}
webhook = Webhook(os.environ["WEBHOOK_SECRET"])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        # The body as it came: parsed and written again it would not verify.
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            event = webhook.verify(body, headers)
        # A ValueError: the header or the body of a forger cannot be read.
        except (WebhookVerificationError, ValueError):
            return self.answer(401)
        # The webhook-id is the same when a delivery comes again: drop what you have.
        print(headers["webhook-id"], event["type"], event["data"])
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()


HTTPServer(("", int(os.environ.get("PORT", "8000"))), Receiver).serve_forever()
`;
}

function go({ address, path }: Receiver): string {
  return `package main

import (
	"cmp"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	secret := os.Getenv("WEBHOOK_SECRET")
	if !regexp.MustCompile("^whsec_[A-Za-z0-9+/]{32}").MatchString(secret) {
		log.Fatal("WEBHOOK_SECRET is no secret")
	}
	webhook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		log.Fatal(err)
	}
	// Receives ${address}
	http.HandleFunc("${path}", func(w http.ResponseWriter, r *http.Request) {
		// The body as it came: parsed and written again it would not verify.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
		if err != nil || webhook.Verify(body, r.Header) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		// The webhook-id is the same when a delivery comes again: drop what you have.
		log.Println(r.Header.Get("webhook-id"), string(body))
		w.WriteHeader(http.StatusNoContent)
	})
	log.Fatal(http.ListenAndServe(":"+cmp.Or(os.Getenv("PORT"), "8000"), nil))
}
`;
}

function rust({ address, path }: Receiver): string {
  return `use axum::{body::Bytes, http::HeaderMap, http::StatusCode, routing::post, Router};
use standardwebhooks::Webhook;

async fn receive(headers: HeaderMap, body: Bytes) -> StatusCode {
    let secret = std::env::var("WEBHOOK_SECRET").expect("WEBHOOK_SECRET");
    assert!(secret.starts_with("whsec_") && secret.len() >= 38, "WEBHOOK_SECRET is no secret");
    let webhook = Webhook::new(&secret).expect("a secret that begins with whsec_");
    // The body as it came: parsed and written again it would not verify.
    if webhook.verify(&body, &headers).is_err() {
        return StatusCode::UNAUTHORIZED;
    }
    // The webhook-id is the same when a delivery comes again: drop what you have.
    println!("{:?} {}", headers["webhook-id"], String::from_utf8_lossy(&body));
    StatusCode::NO_CONTENT
}

#[tokio::main]
async fn main() {
    // Receives ${address}
    let app = Router::new().route("${path}", post(receive));
    let port = std::env::var("PORT").unwrap_or("8000".into());
    let listener = tokio::net::TcpListener::bind(format!("0.0.0.0:{port}")).await.unwrap();
    axum::serve(listener, app).await.unwrap();
}
`;
}

function java({ address, path }: Receiver): string {
  return `import com.standardwebhooks.Webhook;
import com.standardwebhooks.exceptions.WebhookVerificationException;
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

public class Receiver {
    public static void main(String[] args) throws Exception {
        var webhook = new Webhook(System.getenv("WEBHOOK_SECRET"));
        var port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8000"));
        var server = HttpServer.create(new InetSocketAddress(port), 0);
        // Receives ${address}
        server.createContext("${path}", exchange -> {
            // The body as it came: parsed and written again it would not verify.
            var body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            var status = 204;
            try {
                webhook.verify(body, exchange.getRequestHeaders());
                // The webhook-id is the same when a delivery comes again: drop what you have.
                System.out.println(exchange.getRequestHeaders().getFirst("webhook-id") + " " + body);
            } catch (WebhookVerificationException forged) {
                status = 401;
            }
            exchange.sendResponseHeaders(status, -1);
            exchange.close();
        });
        server.start();
    }
}
`;
}

function php({ address }: Receiver): string {
  return `<?php
require __DIR__ . '/vendor/autoload.php';

use StandardWebhooks\\Exception\\WebhookVerificationException;
use StandardWebhooks\\Webhook;

// Receives ${address.replaceAll("?>", "")}
$secret = (string) getenv('WEBHOOK_SECRET');
if (!preg_match('~^whsec_[A-Za-z0-9+/]{32}~', $secret)) {
    http_response_code(500);
    exit('WEBHOOK_SECRET is no secret');
}
$webhook = new Webhook($secret);
// The body as it came: parsed and written again it would not verify.
$body = file_get_contents('php://input');
$headers = array_change_key_case(getallheaders(), CASE_LOWER);
try {
    $event = $webhook->verify($body, $headers);
} catch (WebhookVerificationException $forged) {
    http_response_code(401);
    exit;
}
// The webhook-id is the same when a delivery comes again: drop what you have.
error_log($headers['webhook-id'] . ' ' . $event['type']);
http_response_code(204);
`;
}

function plain({ address }: Receiver): string {
  return `import { createHmac, timingSafeEqual } from "node:crypto";

// Receives ${address}
const secret = process.env.WEBHOOK_SECRET ?? "";
if (!/^whsec_[A-Za-z0-9+/]{32}/.test(secret)) throw new Error("WEBHOOK_SECRET is no secret");
const key = Buffer.from(secret.replace("whsec_", ""), "base64");
const TOLERANCE_SECONDS = 300;

/** \`body\`: the text as it came; \`headers\`: names in small letters. The event, or null: not genuine. */
export function readDelivery(body, headers) {
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!id || !/^\\d+$/.test(timestamp) || age > TOLERANCE_SECONDS) return null;
  const signature = createHmac("sha256", key).update(\`\${id}.\${timestamp}.\${body}\`).digest("base64");
  const expected = Buffer.from(\`v1,\${signature}\`);
  const given = (headers["webhook-signature"] ?? "").split(" ").map((entry) => Buffer.from(entry));
  const isGenuine = given.some(
    (entry) => entry.length === expected.length && timingSafeEqual(entry, expected),
  );
  return isGenuine ? JSON.parse(body) : null;
}
`;
}

function plainPhp({ address }: Receiver): string {
  return `<?php
// Receives ${address.replaceAll("?>", "")}
$secret = (string) getenv('WEBHOOK_SECRET');
if (!preg_match('~^whsec_[A-Za-z0-9+/]{32}~', $secret)) {
    http_response_code(500);
    exit('WEBHOOK_SECRET is no secret');
}
$key = base64_decode(substr($secret, strlen('whsec_')));
// The body as it came: parsed and written again it would not verify.
$body = file_get_contents('php://input');
$headers = array_change_key_case(getallheaders(), CASE_LOWER);
$id = $headers['webhook-id'] ?? '';
$timestamp = $headers['webhook-timestamp'] ?? '';
$isFresh = ctype_digit($timestamp) && abs(time() - (int) $timestamp) <= 300;
$expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
$isGenuine = false;
foreach (explode(' ', $headers['webhook-signature'] ?? '') as $given) {
    $isGenuine = hash_equals($expected, $given) || $isGenuine;
}
if ($id === '' || !$isFresh || !$isGenuine) {
    http_response_code(401);
    exit;
}
// The webhook-id is the same when a delivery comes again: drop what you have.
error_log($id . ' ' . json_decode($body, true)['type']);
http_response_code(204);
`;
}
