import AsyncHTTPClient
package import JSONText
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
package import PollerWire
import SafeNumbers
import TLSErrorText

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension PollerClient {
    /// The maximum size of a response.
    ///
    /// A page of 500 watches with an object of 64 KiB each is 32 MiB.
    private static let answerBytesMax = 64 * 1_048_576

    /// Sends one request and throws for every status but 2xx and 304.
    ///
    /// - `idempotencyKey`: identifies a request that may be sent again.
    /// - `traceparent`: the trace of the request.
    /// - `wait`: the time that the server may wait before it responds.
    func send(
        _ method: HTTPMethod,
        _ path: String,
        query: [(String, String?)] = [],
        body: String? = nil,
        type: String = "application/json",
        idempotencyKey: String? = nil,
        traceparent: String? = nil,
        wait: Duration = .zero
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: base + path + Self.encoded(query))
        request.method = method
        request.headers.add(name: "Accept", value: "application/json")
        request.headers.add(name: "User-Agent", value: "poller-client/1")
        if let apiKey { request.headers.add(name: "Authorization", value: "Bearer \(apiKey)") }
        if let idempotencyKey {
            request.headers.add(name: "Idempotency-Key", value: idempotencyKey)
        }
        if let traceparent { request.headers.add(name: "traceparent", value: traceparent) }
        if let body {
            request.headers.add(name: "Content-Type", value: type)
            request.body = .bytes(ByteBuffer(string: body))
        } else if method == .POST {
            request.body = .bytes(ByteBuffer())
        }
        var waited = Duration.zero
        while true {
            let (status, retryAfter, bytes) = try await exchange(request, wait: wait)
            if (200..<300).contains(status) || status == 304 {
                return Answer(status: status, body: bytes)
            }
            let problem = PollerProblem(
                status: status,
                retryAfterSeconds: retryAfter,
                body: bytes
            )
            let pause = max(problem.retryAfter ?? .zero, .seconds(1))
            // The caller of a long poll has a time limit of its own.
            guard problem.code == "too_many_requests", wait == .zero,
                waited + pause <= rateTimeout
            else { throw PollerError.problem(problem) }
            try await Task.sleep(for: pause)
            waited += pause
        }
    }

    /// Reads the response of a route, for commands that print it unchanged.
    package func read(
        _ path: String,
        query: [(String, String?)] = []
    ) async throws -> RawJSON {
        try await send(.GET, path, query: query).json
    }

    /// Reads a page of a list, for commands.
    ///
    /// `isWhole` is as in ``Page``.
    package func page<Item: WireObject & Hashable>(
        _ path: String,
        query: [(String, String?)] = [],
        isWhole: Bool = false
    ) async throws -> Page<Item> {
        try Page(try await send(.GET, path, query: query), isWhole: isWhole)
    }

    /// Deletes the object at a path and returns its last state.
    package func delete(_ path: String) async throws -> RawJSON {
        try await send(.DELETE, path).json
    }

    /// Returns a path segment, percent-encoded.
    package static func segment(_ text: String) -> String { percentEncoded(text) }

    private func exchange(
        _ request: HTTPClientRequest,
        wait: Duration
    ) async throws -> (status: Int, retryAfter: Int?, body: [UInt8]) {
        let limit = wait + Self.timeout
        do {
            let response = try await http.execute(
                request,
                timeout: TimeAmount(limit)
            )
            let body = try await response.body.collect(upTo: Self.answerBytesMax)
            return (
                Int(clamping: response.status.code),
                response.headers.first(name: "Retry-After").flatMap { Int(decimal: $0) },
                Array(body.readableBytesView)
            )
        } catch is NIOTooManyBytesError {
            throw PollerError.unintelligible(
                "the answer has more than \(Self.answerBytesMax) bytes; ask for smaller pages"
            )
        } catch {
            try Task.checkCancellation()
            throw PollerError.unreachable(url: base, reason: Self.reason(error))
        }
    }

    /// Describes for people why a request got no response.
    package static func reason(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError where error == .deadlineExceeded || error == .readTimeout:
            return "it did not answer in time"
        case let error as HTTPClientError where error == .connectTimeout:
            return "the connection was not made in time"
        case let error as HTTPClientError where error == .remoteConnectionClosed:
            return "it closed the connection"
        case let error as NIOConnectionError:
            if error.dnsAError != nil || error.dnsAAAAError != nil {
                return "there is no host of the name \(error.host)"
            }
            return error.connectionErrors.first.map { reason($0.error) } ?? "Connection refused"
        case let error as IOError: return unsafe String(cString: strerror(error.errnoCode))
        case NIOSSLError.handshakeFailed(let cause):
            let text = TLSErrorText.text(of: cause)
            if text.contains("CERTIFICATE_VERIFY_FAILED") { return untrustedCertificate }
            if text.contains("WRONG_VERSION_NUMBER") || text.contains("HTTP_REQUEST") {
                return "it speaks no TLS: begin its URL with http://"
            }
            return "the TLS handshake failed: \(text)"
        case is HTTPParserError: return "it speaks no HTTP: does it want https:// in its URL?"
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            return certificateOfOtherHost
        case is NIOSSLExtraError: return untrustedCertificate
        default: return TLSErrorText.text(of: error)
        }
    }

    /// The description of a server with an untrusted certificate.
    package static let untrustedCertificate = "its certificate is not one that is trusted here"

    /// The description of a server whose certificate has other host names than its URL.
    package static let certificateOfOtherHost = "its certificate is for another host name"

    static func encoded(_ query: [(String, String?)]) -> String {
        let parts = query.compactMap { name, value in
            value.map { "\(name)=\(percentEncoded($0))" }
        }
        return parts.isEmpty ? "" : "?" + parts.joined(separator: "&")
    }

    /// Percent-encodes everything but the unreserved characters of RFC 3986 §2.3.
    static func percentEncoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            let scalar = Unicode.Scalar(byte)
            switch scalar {
            case "A"..."Z", "a"..."z", "0"..."9", "-", ".", "_", "~":
                encoded.unicodeScalars.append(scalar)
            default:
                let hex = String(byte, radix: 16, uppercase: true)
                encoded += "%" + (hex.count == 1 ? "0" : "") + hex
            }
        }
        return encoded
    }
}

/// The waits between retries: doubling from a quarter of a second to ten, with jitter.
///
/// The jitter keeps the clients of a restarted server from returning together.
package struct Backoff {
    private(set) var failures = 0

    /// Creates a backoff without failures.
    package init() {}

    /// Sleeps after a failure.
    ///
    /// `least`: the wait that the server requested.
    package mutating func sleep(atLeast least: Duration? = nil) async throws {
        let ceiling = min(0.25 * Double(1 << min(failures, 10)), 10)
        failures += 1
        let wait = Duration.seconds(Double.random(in: (ceiling / 2)...ceiling))
        try await Task.sleep(for: max(wait, least ?? .zero))
    }

    /// Resets the failures after a success.
    package mutating func reset() {
        failures = 0
    }
}
