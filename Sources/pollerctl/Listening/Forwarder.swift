import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PollerClient
import PollerWire
import SafeNumbers
import StandardWebhooks

/// Tells a program of the developer's what a webhook of ours would tell it.
///
/// The request is the notifier's, header for header and byte for byte, so what works here works in
/// production. The body is the event as it is recorded; the id is the same for every attempt.
struct Forwarder: Sendable {
    /// As the notifier waits for a receiver.
    private static let timeout = TimeAmount.seconds(15)
    /// What of an answer's body is read, as the notifier does; beyond, the connection is closed.
    private static let answerBytesMax = 8192

    /// What became of one attempt.
    struct Attempt {
        /// The status of the answer; nil when there was none.
        let status: Int?
        /// Why it is not accepted, in words for people; nil when it is.
        let problem: String?
        let ms: Int

        /// Whether the receiver has said that it has the event.
        var isAccepted: Bool { problem == nil }
        /// The status, or that there is none.
        var shown: String { status.map { "\($0)" } ?? "no answer" }
    }

    let target: String
    let key: SigningKey
    let http: HTTPClient

    /// Runs `body` with a forwarder, and closes its connections at the end.
    static func with<Value>(
        target: String,
        key: SigningKey,
        _ body: (Forwarder) async throws -> Value
    ) async throws -> Value {
        // A redirect would carry the signed body to somebody else; the notifier follows none.
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
    /// Errors: `CancellationError` alone; what the receiver does is in the attempt.
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
            // It has answered already; how the body ends changes nothing.
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
            return attempt(status, isAccepted ? nil : "answered \(status)")
        } catch {
            try Task.checkCancellation()
            return attempt(nil, "did not answer: \(PollerClient.reason(error))")
        }
    }

    /// Checks where to forward to.
    static func problem(with target: String) -> String? {
        let url = URL(string: target)
        guard ["http", "https"].contains(url?.scheme?.lowercased() ?? ""),
            url?.host()?.isEmpty == false
        else { return "--forward-to must be a URL such as http://localhost:3000/hook" }
        return nil
    }
}

extension Received<Event> {
    /// Prints the event and what its receiver answered: on one line, or as JSON.
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
    /// What a line of a list of all events says: when, what, of which source and order, how much,
    /// and how the payment is.
    var lineCells: [Table.Cell] {
        [
            .init("\(observed.polledAt)", .faint), .init(type, .strong), .init(source),
            .init(order ?? "-"), .init(payment?.amountShown ?? "-"),
            .init(payment?.state.rawValue ?? status ?? "-", payment?.colour),
        ]
    }
}
