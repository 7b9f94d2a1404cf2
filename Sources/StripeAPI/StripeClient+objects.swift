extension StripeClient {
    /// Reads a Source.
    ///
    /// - Parameters:
    ///   - id: `src_…`.
    ///   - clientSecret: Required with a publishable key, which then gets no metadata; otherwise optional.
    ///   - timeout: The whole request's; the configuration's when nil.
    /// - Returns: The Source as it is now.
    /// - Throws: Any ``StripeError``; an unknown id is `api` with status 404 and code `resource_missing`.
    public func retrieveSource(
        _ id: String,
        clientSecret: ClientSecret? = nil,
        timeout: Duration? = nil
    ) async throws(StripeError) -> Source {
        try await retrieve("/v1/sources/", id, clientSecret, timeout)
    }

    /// Reads a PaymentIntent; parameters and errors as ``retrieveSource(_:clientSecret:timeout:)``.
    public func retrievePaymentIntent(
        _ id: String,
        clientSecret: ClientSecret? = nil,
        timeout: Duration? = nil
    ) async throws(StripeError) -> PaymentIntent {
        try await retrieve("/v1/payment_intents/", id, clientSecret, timeout)
    }

    /// Reads a Charge.
    public func retrieveCharge(
        _ id: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> Charge {
        try await retrieve("/v1/charges/", id, nil, timeout)
    }

    /// Creates a Source from form fields such as `("owner[name]", "Jenny Rosen")`.
    public func createSource(
        _ form: [(String, String)],
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> Source {
        try await post("/v1/sources", form: form, idempotencyKey: idempotencyKey).decode(
            Source.self
        )
    }

    /// Creates a PaymentIntent from form fields.
    public func createPaymentIntent(
        _ form: [(String, String)],
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> PaymentIntent {
        try await post("/v1/payment_intents", form: form, idempotencyKey: idempotencyKey)
            .decode(PaymentIntent.self)
    }

    /// Charges a Source: the key should be the order's id, so that whoever races charges once.
    ///
    /// - Parameters:
    ///   - source: A chargeable Source.
    ///   - amount: In the currency's smallest unit.
    ///   - currency: Three letters, lower case.
    ///   - idempotencyKey: The same for everybody who may charge this order.
    /// - Returns: The charge, maybe still pending.
    /// - Throws: Any ``StripeError``; a decline is `api` with status 402.
    public func createCharge(
        source: String,
        amount: Int,
        currency: String,
        idempotencyKey: String
    ) async throws(StripeError) -> Charge {
        let form = [("source", source), ("amount", String(amount)), ("currency", currency)]
        return try await post("/v1/charges", form: form, idempotencyKey: idempotencyKey)
            .decode(Charge.self)
    }

    private func retrieve<Value: Decodable>(
        _ prefix: String,
        _ id: String,
        _ clientSecret: ClientSecret?,
        _ timeout: Duration?
    ) async throws(StripeError) -> Value {
        // An empty id would address the collection, a dot segment another resource.
        guard !id.isEmpty, id != ".", id != ".." else { throw .invalidRequest("the id is empty") }
        let query = clientSecret.map { [("client_secret", $0.rawValue)] } ?? []
        return try await get(prefix + PercentEncoding.encode(id), query: query, timeout: timeout)
            .decode(Value.self)
    }
}
