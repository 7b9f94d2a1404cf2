import NIOHTTP1

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension PollerClient {
    /// Registers an endpoint; its secret is in the answer and never shown again.
    ///
    /// - `idempotencyKey`: of any number of calls with the same one, one creates.
    public func createEndpoint(
        _ wish: EndpointWish,
        idempotencyKey: String? = nil
    ) async throws -> Endpoint {
        try Self.endpoint(
            try await send(
                .POST,
                "/v1/endpoints",
                body: try wish.json,
                idempotencyKey: idempotencyKey
            )
        )
    }

    /// A page of endpoints, the oldest first.
    ///
    /// - `account`: nil for all.
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the page before.
    public func endpoints(
        account: String? = nil,
        limit: Int = 100,
        cursor: String? = nil
    ) async throws -> Page<Endpoint> {
        let query: [(String, String?)] = [
            ("account", account), ("limit", String(limit)), ("cursor", cursor),
        ]
        return try Page(try await send(.GET, "/v1/endpoints", query: query), Endpoint.init(json:))
    }

    /// Reads an endpoint.
    public func endpoint(_ id: String) async throws -> Endpoint {
        try Self.endpoint(try await send(.GET, Self.path(ofEndpoint: id)))
    }

    /// Changes what the wish names, and nothing else.
    public func changeEndpoint(_ id: String, _ wish: EndpointWish) async throws -> Endpoint {
        try Self.endpoint(
            try await send(.PATCH, Self.path(ofEndpoint: id), body: try wish.json)
        )
    }

    /// Removes an endpoint; what waits for it is not delivered any more.
    @discardableResult
    public func removeEndpoint(_ id: String) async throws -> Endpoint {
        try Self.endpoint(try await send(.DELETE, Self.path(ofEndpoint: id)))
    }

    /// Sends a signed test event at once and tells what the receiver did; takes up to 30 s.
    public func testEndpoint(_ id: String) async throws -> EndpointTest {
        let answer = try await send(
            .POST,
            Self.path(ofEndpoint: id, "/test"),
            wait: .seconds(30)
        )
        guard let result = EndpointTest(json: answer.text) else {
            throw PollerError.unintelligible("the answer is not the result of a test")
        }
        return result
    }

    /// Makes a new secret, which is in the answer; the old ones go on signing for `overlap`.
    ///
    /// - `overlap`: 0 to 7 days; nil is the server's choice, a day.
    public func rotateEndpoint(
        _ id: String,
        overlap: Duration? = nil,
        idempotencyKey: String? = nil
    ) async throws -> Endpoint {
        try Self.endpoint(
            try await send(
                .POST,
                Self.path(ofEndpoint: id, "/rotate"),
                body: overlap.map { "{\"overlap\":\"\($0.spanText)\"}" },
                idempotencyKey: idempotencyKey
            )
        )
    }

    /// Tells an endpoint again; what waited for it comes first.
    @discardableResult
    public func enableEndpoint(_ id: String) async throws -> Endpoint {
        try Self.endpoint(try await send(.POST, Self.path(ofEndpoint: id, "/enable")))
    }

    /// Tells an endpoint nothing more; what is recorded for a day from now on waits for it.
    @discardableResult
    public func disableEndpoint(_ id: String, reason: String? = nil) async throws -> Endpoint {
        var body: String?
        if let reason {
            do {
                body = String(
                    decoding: try Self.encoder().encode(["reason": reason]),
                    as: UTF8.self
                )
            } catch {
                throw PollerError.invalidConfiguration("the reason cannot be written as JSON")
            }
        }
        return try Self.endpoint(
            try await send(.POST, Self.path(ofEndpoint: id, "/disable"), body: body)
        )
    }

    /// What signs the webhooks of inline `notify` URLs.
    public func inlineSecret() async throws -> String {
        try await send(.GET, Self.path(ofEndpoint: "inline", "/secret"))
            .decoded(Secret.self).secret
    }

    /// The answer that carries a secret.
    private struct Secret: Decodable {
        let secret: String
    }

    private static func path(ofEndpoint id: String, _ rest: String = "") -> String {
        "/v1/endpoints/\(percentEncoded(id))\(rest)"
    }

    private static func endpoint(_ answer: Answer) throws(PollerError) -> Endpoint {
        guard let endpoint = Endpoint(json: answer.text) else {
            throw .unintelligible(
                "the answer is not an endpoint: check the URL and the server's version"
            )
        }
        return endpoint
    }
}

/// What an endpoint did with a test event.
public struct EndpointTest: Hashable, Sendable {
    /// Whether it accepted.
    public let isDelivered: Bool
    /// `ok`, `timeout`, `tls`, `server_error` and so on.
    public let kind: String
    /// The HTTP or SMTP status; nil without an answer.
    public let code: Int?
    /// The address that was connected.
    public let address: String?
    /// All in all.
    public let durationMs: Int?
    /// What was wrong; nil when nothing was.
    public let reason: String?
    /// The result as the server sent it.
    public let json: String

    /// Reads a result; nil when the text is not one.
    init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)) else {
            return nil
        }
        isDelivered = wire.delivered
        kind = wire.class
        code = wire.code
        address = wire.address
        durationMs = wire.durationMs
        reason = wire.reason
        self.json = json
    }

    private struct Wire: Decodable {
        let delivered: Bool
        let `class`: String
        let code: Int?
        let address: String?
        let durationMs: Int?
        let reason: String?

        enum CodingKeys: String, CodingKey {
            case delivered, `class`, code, address, reason
            case durationMs = "duration_ms"
        }
    }
}
