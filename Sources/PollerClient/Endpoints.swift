import NIOHTTP1
public import PollerWire

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension PollerClient {
    /// Registers an endpoint; its secret is in the answer and never shown again.
    ///
    /// - `idempotencyKey`: of any number of calls with the same one, one creates.
    public func createEndpoint(
        _ update: EndpointUpdate,
        idempotencyKey: String? = nil
    ) async throws -> Received<Endpoint> {
        try await send(
            .POST,
            "/v1/endpoints",
            body: update.json,
            idempotencyKey: idempotencyKey
        ).received("an endpoint")
    }

    /// A page of endpoints, the newest first.
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
        return try Page(try await send(.GET, "/v1/endpoints", query: query))
    }

    /// Reads an endpoint.
    public func endpoint(_ id: String) async throws -> Received<Endpoint> {
        try await send(.GET, Self.path(ofEndpoint: id)).received("an endpoint")
    }

    /// Changes what the update names, and nothing else.
    public func changeEndpoint(
        _ id: String,
        _ update: EndpointUpdate
    ) async throws -> Received<Endpoint> {
        try await send(.PATCH, Self.path(ofEndpoint: id), body: update.json).received("an endpoint")
    }

    /// Removes an endpoint; what waits for it is not delivered any more.
    @discardableResult
    public func removeEndpoint(_ id: String) async throws -> Received<Endpoint> {
        try await send(.DELETE, Self.path(ofEndpoint: id)).received("an endpoint")
    }

    /// Sends a signed test event at once and tells what the receiver did; takes up to 30 s.
    public func testEndpoint(_ id: String) async throws -> Received<EndpointTest> {
        let answer = try await send(
            .POST,
            Self.path(ofEndpoint: id, "/test"),
            wait: .seconds(30)
        )
        return try answer.received("the result of a test")
    }

    /// Makes a new secret, which is in the answer; the old ones go on signing for `overlap`.
    ///
    /// - `overlap`: 0 to 7 days; nil is the server's choice, a day.
    public func rotateEndpoint(
        _ id: String,
        overlap: Duration? = nil,
        idempotencyKey: String? = nil
    ) async throws -> Received<Endpoint> {
        try await send(
            .POST,
            Self.path(ofEndpoint: id, "/rotate"),
            body: overlap.map { EndpointRotation(overlap: Span($0)).json },
            idempotencyKey: idempotencyKey
        ).received("an endpoint")
    }

    /// Tells an endpoint again; what waited for it comes first.
    @discardableResult
    public func enableEndpoint(_ id: String) async throws -> Received<Endpoint> {
        try await send(.POST, Self.path(ofEndpoint: id, "/enable")).received("an endpoint")
    }

    /// Tells an endpoint nothing more; what is recorded for a day from now on waits for it.
    @discardableResult
    public func disableEndpoint(
        _ id: String,
        reason: String? = nil
    ) async throws -> Received<Endpoint> {
        let body = reason.map { EndpointDisabling(reason: $0).json }
        return try await send(.POST, Self.path(ofEndpoint: id, "/disable"), body: body).received(
            "an endpoint"
        )
    }

    /// What signs the webhooks of inline `notify` URLs of an account.
    ///
    /// - `account`: nil for the default account, or that of the key.
    public func inlineSecret(account: String? = nil) async throws -> String {
        let answer = try await send(
            .GET,
            Self.path(ofEndpoint: "inline", "/secret")
                + (account.map { "?account=\(Self.percentEncoded($0))" } ?? "")
        )
        let answered: InlineSecret = try answer.value()
        return answered.secret
    }

    private static func path(ofEndpoint id: String, _ rest: String = "") -> String {
        "/v1/endpoints/\(percentEncoded(id))\(rest)"
    }
}

extension Received<Endpoint> {
    /// `default`, `fast` or `none`, or the waits after each failure: `5s, 1m`.
    public var retry: String { value.retry.description }
    /// For one attempt, as `10s`; nil for the server's own.
    public var timeout: String? { value.timeout?.description }
    /// The names of the headers it asked for; the server never tells their values.
    public var headerNames: [String] { value.headers.dictionary.keys.sorted() }
    /// `whpk_…` of those that sign right now, newest first; empty where a shared secret signs.
    public var publicKeys: [String] { value.secrets.compactMap(\.publicKey) }
    /// How many secrets sign right now, of which all but the newest end by themselves.
    public var secretCount: Int { value.secrets.count }
    /// When it began to fail; nil when it accepts what it is sent, or was not read alone.
    public var failingSince: Date? { value.health?.failingSince?.date }
    /// Nothing goes out before: it asked for that, or has failed too often in a row.
    public var heldUntil: Date? { value.health?.heldUntil?.date }
}

/// What an endpoint is to be: of a new one all that is not standard, of an existing one what is
/// to change.
public struct EndpointUpdate: Hashable, Sendable {
    /// Whose events; only of a new one, nil is the default account.
    public var account: String?
    /// How webhooks are signed; only of a new one, nil is a shared secret.
    public var signing: Endpoint.Signing?
    /// `https://…`, `mailto:…` or `redis+stream:NAME`; required of a new one.
    public var url: String?
    /// The endpoint's name, unique within the account; `""` removes the name.
    public var name: String?
    /// Event types such as `source.chargeable` or `source.*`; empty for all.
    public var types: [String]?
    /// Sources; empty for all of the account.
    public var sources: [String]?
    /// What the watch's metadata must hold, all of it.
    public var metadata: [String: String]?
    /// Tell only how watches end.
    public var finalOnly: Bool?
    /// After a failure tell only the newest of what waits, and the end.
    public var coalesces: Bool?
    /// `default`, `fast`, `none`, or waits such as `5s`, `1m`.
    public var retry: [String]?
    /// The span for one attempt, 1 s to 30 s.
    public var timeout: Duration?
    /// Deliveries a second; 0 is no limit.
    public var rate: Double?
    /// Deliveries that may follow each other at once.
    public var burst: Int?
    /// Deliveries in flight at once.
    public var concurrency: Int?
    /// Headers of every request.
    public var headers: [String: String]?
    /// `full` or `thin`.
    public var payload: String?
    /// Tell `fallback` instead of waiting longer than `within`.
    public var notifyBy: NotifyBy?

    /// The span within which an event must be accepted, and who is told otherwise.
    public struct NotifyBy: Hashable, Sendable {
        /// 1 s to 7 days.
        public var within: Duration
        /// The id of the other endpoint.
        public var fallback: String

        /// Puts both together.
        public init(within: Duration, fallback: String) {
            self.within = within
            self.fallback = fallback
        }
    }

    /// A new endpoint at a URL, or nothing to change.
    public init(url: String? = nil, account: String? = nil, types: [String]? = nil) {
        self.url = url
        self.account = account
        self.types = types
    }

    /// The update on the wire: what is nil is left out, and stays as it is.
    var json: String {
        var change = EndpointChange()
        change.url = url
        change.name = name == "" ? .standard : Change(name)
        change.types = Change(types)
        change.sources = Change(sources)
        change.metadata = Change(metadata.map { Texts($0) })
        change.finalOnly = Change(finalOnly)
        change.coalesce = Change(coalesces)
        change.retry = Change(retry.map(EndpointRetry.init(words:)))
        change.timeout = Change(timeout.map(Span.init))
        let limit = LaneLimitChange(rate: rate, burst: burst, concurrency: concurrency)
        change.limit = limit.isEmpty ? .keep : .set(limit)
        change.headers = Change(headers.map { Headers($0) })
        change.payload = Change(payload.map(Open.init(rawValue:)))
        change.notifyBy = Change(
            notifyBy.map { Endpoint.Fallback(within: Span($0.within), endpoint: $0.fallback) }
        )
        guard account != nil || signing != nil else { return change.json }
        var new = NewEndpoint()
        new.account = account
        new.signing = signing.map(Open.init)
        new.choices = change
        return new.json
    }
}

extension Change {
    /// What is nil stays as it is.
    fileprivate init(_ value: Value?) { self = value.map(Change.set) ?? .keep }
}

extension EndpointRetry {
    /// One word that is no span is a name.
    fileprivate init(words: [String]) {
        if let word = words.first, words.count == 1, word.first?.isNumber == false {
            self = .named(word)
        } else {
            self = .waits(words)
        }
    }
}

/// The name of ``EndpointUpdate`` until it got this one.
@available(*, deprecated, renamed: "EndpointUpdate")
public typealias EndpointWish = EndpointUpdate
