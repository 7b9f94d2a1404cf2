import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PollerClient
import PollerWire
import SafeNumbers
import StandardWebhooks

/// Forwards events to a local program as webhooks.
///
/// The request has the same headers and body as the notifier's, so a receiver that works here works in
/// production. The body is the recorded event; the ID is the same for every attempt.
struct Forwarder: Sendable {
    /// The notifier's timeout.
    private static let timeout = TimeAmount.seconds(15)
    /// The response bytes that are read, as in the notifier; after that the connection is closed.
    private static let answerBytesMax = 8192

    /// The result of one attempt.
    struct Attempt {
        /// The response status; `nil` without a response.
        let status: Int?
        /// Why the receiver did not accept the event; `nil` if it did.
        let problem: String?
        let ms: Int

        /// Whether the receiver accepted the event.
        var isAccepted: Bool { problem == nil }
        /// The status for display.
        var shown: String { status.map { "\($0)" } ?? "no response" }
    }

    let target: String
    let key: SigningKey
    let http: HTTPClient

    /// Runs `body` with a forwarder, then closes its connections.
    static func with<Value>(
        target: String,
        key: SigningKey,
        _ body: (Forwarder) async throws -> Value
    ) async throws -> Value {
        // Following a redirect would send the signed body to another server; the notifier follows none.
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(5))
        )
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        return try await HTTPClient.withHTTPClient(configuration: configuration) { http in
            try await body(Forwarder(target: target, key: key, http: http))
        }
    }

    /// Makes one attempt.
    ///
    /// Throws only `CancellationError`; failures of the receiver are in the result.
    func forward(_ event: Received<Event>) async throws -> Attempt {
        var request = HTTPClientRequest(url: target)
        request.method = .POST
        let timestamp = Int64(saturating: Date().timeIntervalSince1970)
        let id = event.value.id
        let headers = WebhookHeaders.of(
            id: id,
            timestamp: timestamp,
            signatures: [key.signature(id: id, timestamp: timestamp, body: event.json)],
            traceparent: event.value.traceparent
        )
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        request.body = .bytes(ByteBuffer(string: event.json))
        let clock = ContinuousClock()
        let began = clock.now
        func attempt(_ status: Int?, _ problem: String?) -> Attempt {
            let span = (clock.now - began).components
            let ms =
                Int(clamping: span.seconds) * 1000
                + Int(clamping: span.attoseconds / 1_000_000_000_000_000)
            return Attempt(status: status, problem: problem, ms: ms)
        }
        do {
            let answer = try await http.execute(request, timeout: Self.timeout)
            let status = Int(clamping: answer.status.code)
            // The status decides; an error in the body changes nothing.
            var bytes = 0
            do {
                for try await part in answer.body {
                    bytes += part.readableBytes
                    if bytes > Self.answerBytesMax { break }
                }
            } catch {
                try Task.checkCancellation()
            }
            let isAccepted = (200..<300).contains(status)
            return attempt(status, isAccepted ? nil : "returned \(status)")
        } catch {
            try Task.checkCancellation()
            return attempt(nil, "did not respond: \(PollerClient.reason(error))")
        }
    }

    /// Returns why a URL is not a valid target; `nil` if it is.
    static func problem(with target: String) -> String? {
        let url = URL(string: target)
        guard ["http", "https"].contains(url?.scheme?.lowercased() ?? ""),
            url?.host()?.isEmpty == false
        else { return "--forward-to must be a URL such as http://localhost:3000/hook" }
        return nil
    }
}

extension Received<Event> {
    /// Prints the event and the receiver's response: on one line, or as JSON.
    func show(_ attempt: Forwarder.Attempt, times: Int, json isJSON: Bool) {
        guard !isJSON else {
            let status = attempt.status.map { "\($0)" } ?? "null"
            return Terminal.printJSON(
                #"{"event":\#(json),"status":\#(status),"ms":\#(attempt.ms),"attempts":\#(times)}"#
            )
        }
        Terminal.printLine(
            value.lineCells + [
                .init(attempt.shown, attempt.isAccepted ? .good : .bad),
                .init("\(attempt.ms) ms", .faint),
            ]
        )
    }
}

extension Event {
    /// The cells of a line: time, type, source, order, amount and payment state.
    var lineCells: [Table.Cell] {
        [
            .init("\(observed.polledAt)", .faint), .init(type, .strong), .init(source),
            .init(order ?? "-"), .init(payment?.amountShown ?? "-"),
            .init(payment?.state.rawValue ?? status ?? "-", payment?.colour),
        ]
    }
}
