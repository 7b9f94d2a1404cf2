import NIOHTTP1

/// A client of Stripe's API, bounded in time and size.
///
/// A value; copies share the process's connections. Two ways to call:
///
/// - The typed calls (``createSource(_:idempotencyKey:)-(SourceParams,_)``, ``retrieveSource(_:clientSecret:timeout:)``
///   and so on) decode the answer, throw for every status but 2xx, and repeat a call as
///   ``StripeClientConfiguration/retry`` says.
/// - The raw ones, ``get(_:query:timeout:)``, ``post(_:form:idempotencyKey:timeout:)`` and
///   ``delete(_:timeout:)``, are sent once and answer with any status and an undecoded body, for callers that own
///   retries and decode little.
public struct StripeClient: Sendable {
    /// How the API is reached; may be changed on a copy.
    public var configuration: StripeClientConfiguration

    /// Creates a client; no connection is made before the first request.
    public init(configuration: StripeClientConfiguration) {
        self.configuration = configuration
    }

    /// The same client, acting for a connected account (Connect), or for one of an organisation.
    ///
    /// - Parameter account: `acct_…`, sent as `Stripe-Account` or `Stripe-Context`; see
    ///   ``StripeClientConfiguration/account``.
    /// - Returns: The copy.
    public func acting(for account: String) -> StripeClient {
        var copy = self
        copy.configuration.account = account
        return copy
    }

    /// Sends a GET once and returns whatever status the API answers with.
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
        try await send(StripeCall(.get, path, query: query), timeout: timeout)
    }

    /// Sends a form-encoded POST once and returns whatever status the API answers with.
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
        let key = idempotencyKey ?? configuration.makeIdempotencyKey()
        return try await send(
            StripeCall(.post, path, form: form, idempotencyKey: key),
            timeout: timeout
        )
    }

    /// Sends a DELETE once and returns whatever status the API answers with.
    ///
    /// - Parameters:
    ///   - path: From the root.
    ///   - timeout: From now to the last byte of the body; the configuration's when nil.
    /// - Returns: Status, headers of interest and the body.
    /// - Throws: As ``get(_:query:timeout:)``.
    public func delete(
        _ path: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> StripeResponse {
        try await send(StripeCall(.delete, path), timeout: timeout)
    }

    /// Sends a call, and again as the retry policy says, the idempotency key the same each time.
    func perform<Value: Decodable>(
        _ call: StripeCall,
        timeout: Duration? = nil
    ) async throws(StripeError) -> Value {
        var call = call
        if call.method == .post, call.idempotencyKey == nil {
            call.idempotencyKey = configuration.makeIdempotencyKey()
        }
        var attemptsMade = 0
        while true {
            let outcome = await outcome(of: call, timeout: timeout)
            attemptsMade += 1
            guard
                let delay = configuration.retry.delay(
                    after: outcome,
                    attemptsMade: attemptsMade,
                    jitter: configuration.makeJitter()
                )
            else { return try outcome.get().decode(Value.self) }
            do {
                try await configuration.clock.sleep(for: delay)
            } catch {
                throw .transport(TransportFailure(error))
            }
        }
    }

    private func outcome(
        of call: StripeCall,
        timeout: Duration?
    ) async -> Result<StripeResponse, StripeError> {
        do throws(StripeError) {
            return .success(try await send(call, timeout: timeout))
        } catch {
            return .failure(error)
        }
    }

    private func send(
        _ call: StripeCall,
        timeout: Duration?
    ) async throws(StripeError) -> StripeResponse {
        StripeResponse(
            try await SharedTransport().send(
                try makeRequest(call),
                timeout: timeout ?? configuration.timeout
            )
        )
    }

    /// Sends a GET once over connections of the caller's own, as a cluster's polls are, and returns the
    /// answer as it arrived.
    ///
    /// Errors are those of ``get(_:query:timeout:)``.
    package func get(
        _ path: String,
        query: [(String, String)] = [],
        over transport: some StripeTransport,
        timeout: Duration
    ) async throws(StripeError) -> StripeReply {
        try await transport.send(
            try makeRequest(StripeCall(.get, path, query: query)),
            timeout: timeout
        )
    }

    private func makeRequest(_ call: StripeCall) throws(StripeError) -> StripeRequest {
        if let problem = configuration.head.problem ?? call.problem {
            throw .invalidRequest(problem)
        }
        guard call.target.utf8.first == UInt8(ascii: "/"), RequestHead.isPlain(call.target) else {
            throw .invalidRequest("a path starts with / and has no spaces or control characters")
        }
        var headers = configuration.head.headers
        if let key = call.idempotencyKey {
            // 255 is the documented limit of the header.
            guard RequestHead.isPlain(key), (1...255).contains(key.utf8.count) else {
                throw .invalidRequest("an idempotency key has 1 to 255 printable characters")
            }
            headers.add(name: "Idempotency-Key", value: key)
        }
        if call.form != nil {
            headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
        }
        return StripeRequest(
            method: call.method,
            baseURL: configuration.baseURL,
            target: call.target,
            headers: headers,
            body: call.form,
            bytesMax: configuration.maxBodyBytes
        )
    }
}

/// What all typed calls share.
extension StripeClient {
    /// Reads one object of a collection.
    func retrieve<Value: Decodable>(
        _ collection: String,
        _ id: String,
        _ clientSecret: ClientSecret?,
        _ timeout: Duration?
    ) async throws(StripeError) -> Value {
        let path = try StripeCall.path(collection, id)
        let query = clientSecret.map { [("client_secret", $0.rawValue)] } ?? []
        return try await perform(StripeCall(.get, path, query: query), timeout: timeout)
    }

    /// Reads one page of a collection.
    func list<Element: Codable & Sendable>(
        _ path: String,
        _ filters: [(String, String)],
        _ cursor: PageCursor?,
        _ limit: Int
    ) async throws(StripeError) -> StripeList<Element> {
        guard (1...100).contains(limit) else {
            throw .invalidRequest("a page has 1 to 100 objects, not \(limit)")
        }
        var query = filters
        query.append(("limit", String(limit)))
        if let cursor { query.append(cursor.parameter) }
        return try await perform(StripeCall(.get, path, query: query))
    }

    /// Sends a command to one object of a collection, as `confirm`.
    func command<Value: Decodable>(
        _ collection: String,
        _ id: String,
        _ verb: String? = nil,
        form: [(String, String)],
        idempotencyKey: String?
    ) async throws(StripeError) -> Value {
        let path = try StripeCall.path(collection, id, tail: verb.map { "/" + $0 } ?? "")
        return try await perform(
            StripeCall(.post, path, form: form, idempotencyKey: idempotencyKey)
        )
    }
}
