import NIOHTTP1
public import PollerWire

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension PollerClient {
    /// Registers an endpoint.
    ///
    /// Its secret is in the response and never shown again.
    ///
    /// - `idempotencyKey`: any number of calls with the same key create one endpoint.
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

    /// Returns a page of endpoints, the newest first.
    ///
    /// - `account`: `nil` for all.
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the previous page.
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

    /// Changes only the fields that the update sets.
    public func changeEndpoint(
        _ id: String,
        _ update: EndpointUpdate
    ) async throws -> Received<Endpoint> {
        try await send(.PATCH, Self.path(ofEndpoint: id), body: update.json).received("an endpoint")
    }

    /// Removes an endpoint.
    ///
    /// Its pending events are not delivered.
    @discardableResult
    public func removeEndpoint(_ id: String) async throws -> Received<Endpoint> {
        try await send(.DELETE, Self.path(ofEndpoint: id)).received("an endpoint")
    }

    /// Sends a signed test event at once and returns the recipient's response.
    ///
    /// It takes up to 30 s.
    public func testEndpoint(_ id: String) async throws -> Received<EndpointTest> {
        let answer = try await send(
            .POST,
            Self.path(ofEndpoint: id, "/test"),
            wait: .seconds(30)
        )
        return try answer.received("the result of a test")
    }

    /// Creates a new secret, which is in the response.
    ///
    /// The old secrets keep signing for `overlap`.
    ///
    /// - `overlap`: 0 to 7 days, or `nil` for the server's default of a day.
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

    /// Resumes delivery to an endpoint.
    ///
    /// Pending events come first.
    @discardableResult
    public func enableEndpoint(_ id: String) async throws -> Received<Endpoint> {
        try await send(.POST, Self.path(ofEndpoint: id, "/enable")).received("an endpoint")
    }

    /// Stops delivery to an endpoint.
    ///
    /// Events recorded within the next day are kept for it.
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

    /// Returns the secret that signs the webhooks of an account's inline `notify` URLs.
    ///
    /// - `account`: `nil` for the default account, or that of the key.
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
    /// The retry schedule: `default`, `fast`, `none`, or the waits after each failure, such as `5s, 1m`.
    public var retry: String { value.retry.description }
    /// The timeout of one attempt, such as `10s`, or `nil` for the server's default.
    public var timeout: String? { value.timeout?.description }
    /// The names of the configured headers.
    ///
    /// The server never returns their values.
    public var headerNames: [String] { value.headers.dictionary.keys.sorted() }
    /// The public keys (`whpk_…`) that sign now, newest first.
    ///
    /// It is empty if a shared secret signs.
    public var publicKeys: [String] { value.secrets.compactMap(\.publicKey) }
    /// The number of secrets that sign now.
    ///
    /// All but the newest expire automatically.
    public var secretCount: Int { value.secrets.count }
    /// The time at which it began to fail, or `nil` if it accepts events or was read as part of a list.
    public var failingSince: Date? { value.health?.failingSince?.date }
    /// The time before which nothing is sent, after repeated failures or at the endpoint's request.
    public var heldUntil: Date? { value.health?.heldUntil?.date }
}

/// The settings of a new endpoint that differ from the defaults, or the changes of an existing one.
public struct EndpointUpdate: Hashable, Sendable {
    /// The account of the events, for a new endpoint only.
    ///
    /// `nil` means the default account.
    public var account: String?
    /// The method of signing webhooks, for a new endpoint only.
    ///
    /// `nil` means a shared secret.
    public var signing: Endpoint.Signing?
    /// The address, required for a new endpoint: `https://…`, `mailto:…` or `redis+stream:NAME`.
    public var url: String?
    /// The name of the endpoint, unique within the account.
    ///
    /// An empty string removes the name.
    public var name: String?
    /// Event types such as `source.chargeable` or `source.*`.
    ///
    /// An empty list means all.
    public var types: [String]?
    /// Sources.
    ///
    /// Empty means all of the account.
    public var sources: [String]?
    /// The metadata that a watch must have, all of it.
    public var metadata: [String: String]?
    /// Whether only the last event of each watch is delivered.
    public var finalOnly: Bool?
    /// Whether only the newest pending event, and the last one, are delivered after a failure.
    public var coalesces: Bool?
    /// The retry schedule: `default`, `fast`, `none`, or waits such as `5s`, `1m`.
    public var retry: [String]?
    /// The timeout of one attempt, 1 s to 30 s.
    public var timeout: Duration?
    /// Deliveries a second.
    ///
    /// 0 means no limit.
    public var rate: Double?
    /// The size of a burst of deliveries.
    public var burst: Int?
    /// The maximum of concurrent deliveries.
    public var concurrency: Int?
    /// The headers of every request.
    public var headers: [String: String]?
    /// `full` or `thin`.
    public var payload: String?
    /// The fallback for events that are not accepted in time.
    public var notifyBy: NotifyBy?

    /// The time within which an event must be accepted, and the fallback otherwise.
    public struct NotifyBy: Hashable, Sendable {
        /// 1 s to 7 days.
        public var within: Duration
        /// The id of the other endpoint.
        public var fallback: String

        /// Creates a fallback.
        public init(within: Duration, fallback: String) {
            self.within = within
            self.fallback = fallback
        }
    }

    /// Creates the settings of a new endpoint at a URL, or an empty update.
    public init(url: String? = nil, account: String? = nil, types: [String]? = nil) {
        self.url = url
        self.account = account
        self.types = types
    }

    /// The JSON of the update.
    ///
    /// A `nil` field is left out and stays unchanged.
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
    fileprivate init(_ value: Value?) { self = value.map(Change.set) ?? .keep }
}

extension EndpointRetry {
    /// A single word that is not a span is a name.
    fileprivate init(words: [String]) {
        if let word = words.first, words.count == 1, word.first?.isNumber == false {
            self = .named(word)
        } else {
            self = .waits(words)
        }
    }
}
