import AsyncHTTPClient
import NIOCore
import NIOHTTP1

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A client of Stripe's API: one request per call, bounded in time and size, without retries of its own.
///
/// A value; copies share the process's connections. Raw ``get(_:query:timeout:)`` answers with any status and
/// an undecoded body, for callers that own retries and decode little; the typed calls build upon it.
public struct StripeClient: Sendable {
    /// How the API is reached; may be changed on a copy.
    public var configuration: StripeClientConfiguration

    /// Creates a client; no connection is made before the first request.
    public init(configuration: StripeClientConfiguration) {
        self.configuration = configuration
    }

    /// Sends a GET and returns whatever status the API answers with.
    ///
    /// - Parameters:
    ///   - path: From the root, as `/v1/sources/src_123`; ids in it must be percent-encoded if they are not plain.
    ///   - query: Names and values, encoded here.
    ///   - timeout: From now to the last byte of the body; the configuration's when nil.
    /// - Returns: Status, headers of interest and the body.
    /// - Throws: ``StripeError/transport(_:)``, ``StripeError/bodyTooLarge(limitBytes:)`` or
    ///   ``StripeError/invalidRequest(_:)``; never `api` or `malformed`.
    public func get(
        _ path: String,
        query: [(String, String)] = [],
        timeout: Duration? = nil
    ) async throws(StripeError) -> StripeResponse {
        let target = query.isEmpty ? path : path + "?" + PercentEncoding.form(query)
        return try await send(.GET, target, form: nil, idempotencyKey: nil, timeout: timeout)
    }

    /// Sends a form-encoded POST and returns whatever status the API answers with.
    ///
    /// - Parameters:
    ///   - path: From the root.
    ///   - form: Names, with brackets for nesting as `owner[name]`, and values.
    ///   - idempotencyKey: At most 255 characters; made by the configuration when nil. Whoever repeats a call
    ///     must repeat its key.
    ///   - timeout: From now to the last byte of the body; the configuration's when nil.
    /// - Returns: Status, headers of interest and the body.
    /// - Throws: As ``get(_:query:timeout:)``.
    public func post(
        _ path: String,
        form: [(String, String)],
        idempotencyKey: String? = nil,
        timeout: Duration? = nil
    ) async throws(StripeError) -> StripeResponse {
        try await send(
            .POST,
            path,
            form: PercentEncoding.form(form),
            idempotencyKey: idempotencyKey ?? configuration.makeIdempotencyKey(),
            timeout: timeout
        )
    }

    private func send(
        _ method: HTTPMethod,
        _ target: String,
        form: String?,
        idempotencyKey: String?,
        timeout: Duration?
    ) async throws(StripeError) -> StripeResponse {
        let request = try makeRequest(method, target, form: form, idempotencyKey: idempotencyKey)
        // The accumulator bounds the body, announced or counted; the task's deadline spans the whole exchange,
        // whereas that of the async `execute` ends with the head.
        let accumulator = ResponseAccumulator(
            request: request,
            maxBodySize: configuration.maxBodyBytes
        )
        let task = StripeTransport.shared.execute(
            request: request,
            delegate: accumulator,
            deadline: .now() + TimeAmount(timeout ?? configuration.timeout)
        )
        do {
            let response = try await withTaskCancellationHandler {
                try await task.get()
            } onCancel: {
                task.cancel()
            }
            return StripeResponse(
                status: Int(response.status.code),
                headers: StripeHeaders(response.headers),
                body: response.body.map { Data($0.readableBytesView) } ?? Data()
            )
        } catch let error as ResponseAccumulator.ResponseTooBigError {
            throw .bodyTooLarge(limitBytes: error.maxBodySize)
        } catch {
            throw .transport(TransportFailure(error))
        }
    }

    private func makeRequest(
        _ method: HTTPMethod,
        _ target: String,
        form: String?,
        idempotencyKey: String?
    ) throws(StripeError) -> HTTPClient.Request {
        guard configuration.key.isSendable else {
            throw .invalidRequest("the API key is empty or has characters no key has")
        }
        guard target.utf8.first == UInt8(ascii: "/"), Self.isPlain(target) else {
            throw .invalidRequest("a path starts with / and has no spaces or control characters")
        }
        var headers = HTTPHeaders()
        headers.reserveCapacity(6)
        headers.add(name: "Authorization", value: "Bearer " + configuration.key.value)
        headers.add(name: "Stripe-Version", value: configuration.version)
        headers.add(name: "Accept", value: "application/json")
        if let account = configuration.account {
            guard Self.isPlain(account) else { throw .invalidRequest("bad Stripe-Account") }
            headers.add(name: "Stripe-Account", value: account)
        }
        if let idempotencyKey {
            // 255 is the documented limit of the header.
            guard Self.isPlain(idempotencyKey), (1...255).contains(idempotencyKey.utf8.count) else {
                throw .invalidRequest("an idempotency key has 1 to 255 printable characters")
            }
            headers.add(name: "Idempotency-Key", value: idempotencyKey)
        }
        if form != nil {
            headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
        }
        do {
            return try HTTPClient.Request(
                url: configuration.baseURL + target,
                method: method,
                headers: headers,
                body: form.map { .string($0) }
            )
        } catch {
            throw .invalidRequest("\(configuration.baseURL) is not an http or https address")
        }
    }

    /// Whether a text can stand in a request line or header as it is.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}
