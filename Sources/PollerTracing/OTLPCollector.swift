import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
package import PollerIdentity
import SafeNumbers

/// The receiver of spans: a collector that accepts OTLP over HTTP.
package struct OTLPCollector: Hashable, Sendable {
    /// A batch that the collector has not accepted by then counts as failed.
    private static let timeout = Duration.seconds(10)
    /// How much of a response is read, so that the connection can be reused.
    private static let answerBytesMax = 8192
    /// The longest `Retry-After` of a collector that is respected.
    private static let retryAfterMax = 60

    let url: String
    private let headers: [Header]

    /// A header that a collector requires, usually a credential.
    private struct Header: Hashable {
        let name: String
        let value: String
    }

    /// Makes a collector.
    ///
    /// - Parameters:
    ///   - endpoint: its base, `http://collector:4318`; the standard path of traces is appended.
    ///   - headers: `name=value`, separated by commas, with percent-encoded values, the format of
    ///     `OTEL_EXPORTER_OTLP_HEADERS`; never shown.
    /// - Throws: `InvalidInput` when the headers are invalid.
    package init(endpoint: String, headers: String = "") throws(InvalidInput) {
        var base = endpoint
        while base.hasSuffix("/") { base.removeLast() }
        url = base + "/v1/traces"
        var read: [Header] = []
        for part in headers.split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            // Safe: a split that keeps empty parts has at least one.
            let name = pair[0].filter { $0 != " " }
            let value = pair.count == 2 ? pair[1].trimmed.removingPercentEncoding : nil
            guard !name.isEmpty, name.utf8.allSatisfy(IdentifierSyntax.isAllowed), let value,
                value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
            else {
                throw InvalidInput(
                    "otlp_headers",
                    "must be name=value, separated by commas, with percent-encoded values"
                )
            }
            read.append(Header(name: name, value: value))
        }
        self.headers = read
    }

    /// The result of sending a batch.
    enum Outcome: Sendable {
        case accepted
        /// It would be rejected again.
        case rejected(String)
        /// It may be accepted later, but not before the time that the collector requests.
        case busy(String, Duration?)
    }

    /// Sends a request; every error is one of the outcomes.
    func send(_ body: [UInt8], by http: HTTPClient, clock: some Clock<Duration>) async -> Outcome {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/x-protobuf")
        request.headers.add(name: "user-agent", value: "poller/1")
        for header in headers {
            request.headers.replaceOrAdd(name: header.name, value: header.value)
        }
        request.body = .bytes(body)
        do {
            // The client's own timeout ends with the head; a body without end must not block the
            // exporter.
            return try await withThrowingTaskGroup(of: Outcome?.self) { [request] group in
                group.addTask { try await Self.exchange(request, http) }
                group.addTask {
                    try await clock.sleep(for: Self.timeout)
                    return nil
                }
                defer { group.cancelAll() }
                let first = try await group.next() ?? nil
                return first ?? .busy("did not answer within \(Self.timeout.text)", nil)
            }
        } catch {
            return .busy("cannot be reached: \(error)", nil)
        }
    }

    private static func exchange(
        _ request: HTTPClientRequest,
        _ http: HTTPClient
    ) async throws -> Outcome {
        let response = try await http.execute(request, timeout: TimeAmount(timeout))
        let status = response.status.code
        let wait = response.headers.first(name: "retry-after").flatMap { Int(decimal: $0) }
        // The connection of a response that is too long is closed.
        _ = try? await response.body.collect(upTo: answerBytesMax)
        switch status {
        case 200..<300: return .accepted
        case 429, 502, 503, 504:
            return .busy(
                "answered \(status)",
                wait.map { .seconds(min(max($0, 0), retryAfterMax)) }
            )
        default: return .rejected("answered \(status)")
        }
    }
}

extension Substring {
    /// The text without the spaces around it.
    fileprivate var trimmed: String {
        var text = self
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
