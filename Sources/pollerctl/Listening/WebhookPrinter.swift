import Foundation
import JSONText
import NIOCore
import NIOHTTP1
import NIOPosix
import PollerClient
import PollerWire
import SafeNumbers
import StandardWebhooks

/// A local test receiver: accepts every webhook, returns 204 and prints it.
///
/// Unlike with `--forward-to`, the notifier connects to it, so it prints only webhooks that arrived. It checks
/// signatures with the given secrets and accepts webhooks with other signatures too. It listens only on 127.0.0.1.
struct WebhookPrinter: Sendable {
    /// Larger than any webhook; a longer body is truncated and so is not valid JSON.
    private static let bytesMax = 2 * 1024 * 1024
    /// The largest difference between the sender's clock and ours, as in Standard Webhooks.
    private static let toleranceSeconds = 300.0

    /// A received request.
    private struct Delivery {
        let head: HTTPRequestHead
        let body: String
    }

    let keys: [SigningKey]
    let isJSON: Bool

    /// Accepts webhooks until the task is cancelled; port 0 picks a free one.
    func run(port: Int) async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    return try NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>(
                        wrappingChannelSynchronously: channel
                    )
                }
            }
        let bound = server.channel.localAddress?.port ?? port
        Terminal.printError(
            "printing webhooks sent to http://127.0.0.1:\(bound)/ (press Ctrl-C to stop)"
        )
        try await withThrowingDiscardingTaskGroup { group in
            try await server.executeThenClose { clients in
                for try await client in clients {
                    group.addTask {
                        // An incomplete request is ignored.
                        try? await serve(client)
                    }
                }
            }
        }
    }

    private func serve(
        _ client: NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>
    ) async throws {
        try await client.executeThenClose { inbound, outbound in
            var head: HTTPRequestHead?
            var body = ByteBuffer()
            for try await part in inbound {
                switch part {
                case .head(let begun):
                    head = begun
                    body.clear()
                case .body(var bytes):
                    let room = Self.bytesMax - body.readableBytes
                    if bytes.readableBytes <= room { body.writeBuffer(&bytes) }
                case .end:
                    guard let begun = head else { return }
                    let isPost = begun.method == .POST
                    if isPost { show(Delivery(head: begun, body: String(buffer: body))) }
                    let status: HTTPResponseStatus = isPost ? .noContent : .methodNotAllowed
                    let headers: HTTPHeaders = isPost ? [:] : ["content-length": "0"]
                    try await outbound.write(
                        .head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))
                    )
                    try await outbound.write(.end(nil))
                }
            }
        }
    }

    private func show(_ delivery: Delivery) {
        let headers = delivery.head.headers
        let signature = verdict(on: delivery)
        guard !isJSON else {
            let body = RawJSON(delivery.body)?.description ?? JSONWriter.literal(delivery.body)
            let id = JSONWriter.literal(headers.first(name: "webhook-id") ?? "")
            return Terminal.printJSON(
                #"{"id":\#(id),"signature":\#(JSONWriter.literal(signature)),"event":\#(body)}"#
            )
        }
        guard let json = RawJSON(delivery.body), let event = try? Event(reading: json) else {
            return Terminal.printLine(
                Terminal.clean(
                    "\(delivery.head.uri)  not a poller event, \(delivery.body.utf8.count) bytes"
                )
            )
        }
        let money = event.payment?.amountShown.map { "  \($0)" } ?? ""
        Terminal.printLine(
            Terminal.clean("\(event.type)  \(event.source)  seq \(event.seq)\(money)  \(signature)")
        )
    }

    /// The result of the signature check for display.
    private func verdict(on delivery: Delivery) -> String {
        let headers = delivery.head.headers
        guard let id = headers.first(name: "webhook-id"),
            let signatures = headers.first(name: "webhook-signature"),
            let timestamp = headers.first(name: "webhook-timestamp").flatMap({ Int64(safe: $0) })
        else { return "not signed" }
        guard !keys.isEmpty else { return "signature not checked" }
        let age = Date().timeIntervalSince1970 - Double(timestamp)
        let isNow = age.magnitude <= Self.toleranceSeconds
        guard isNow else { return "signature too old" }
        let sent = Set(signatures.split(separator: " ").map(String.init))
        let isOurs = keys.contains { key in
            sent.contains(key.signature(id: id, timestamp: timestamp, body: delivery.body))
        }
        return isOurs ? "signature verified" : "signed with another secret"
    }
}
