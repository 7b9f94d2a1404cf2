/// Charges and refunds; see <https://docs.stripe.com/api/charges> and <https://docs.stripe.com/api/refunds>.
extension StripeClient {
    /// Charges a Source: the key should be the order's id, so that racing callers charge once.
    ///
    /// - Parameters:
    ///   - source: A chargeable Source.
    ///   - amount: In the currency's smallest unit.
    ///   - currency: Three letters, lower case.
    ///   - idempotencyKey: The same for everybody who may charge this order.
    /// - Returns: The charge, maybe still pending.
    /// - Throws: Any ``StripeError``; a decline is `api` with status 402. After an error that
    ///   ``StripeError/isIndeterminate`` repeat with the same key or look, never take a new key.
    public func createCharge(
        source: String,
        amount: Int,
        currency: String,
        idempotencyKey: String
    ) async throws(StripeError) -> Charge {
        try await createCharge(
            ChargeParams(source: source, amount: amount, currency: currency),
            idempotencyKey: idempotencyKey
        )
    }

    /// Creates a charge; key and errors as ``createCharge(source:amount:currency:idempotencyKey:)``.
    ///
    /// *Source*: <https://docs.stripe.com/sources/best-practices>.
    public func createCharge(
        _ params: ChargeParams,
        idempotencyKey: String
    ) async throws(StripeError) -> Charge {
        try await perform(
            StripeCall(.post, "/v1/charges", form: params.form, idempotencyKey: idempotencyKey)
        )
    }

    /// Reads a Charge.
    public func retrieveCharge(
        _ id: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> Charge {
        try await retrieve("/v1/charges", id, nil, timeout)
    }

    /// Reads one page of charges, newest first; how a doubtful POST is reconciled.
    ///
    /// - Parameters:
    ///   - paymentIntent: Those of this intent alone.
    ///   - customer: Those of this customer alone.
    ///   - created: When they were made.
    ///   - cursor: Where the page begins; the newest when nil.
    ///   - limit: 1 to 100.
    /// - Returns: The page.
    /// - Throws: Any ``StripeError``.
    public func listCharges(
        paymentIntent: String? = nil,
        customer: String? = nil,
        created: TimeBounds = TimeBounds(),
        cursor: PageCursor? = nil,
        limit: Int = 100
    ) async throws(StripeError) -> StripeList<Charge> {
        var filters = created.parameters
        if let paymentIntent { filters.append(("payment_intent", paymentIntent)) }
        if let customer { filters.append(("customer", customer)) }
        return try await list("/v1/charges", filters, cursor, limit)
    }

    /// All charges, page after page, newest first.
    public func charges(created: TimeBounds = TimeBounds()) -> StripePages<Charge> {
        StripePages(from: nil) { cursor throws(StripeError) in
            try await listCharges(created: created, cursor: cursor)
        }
    }

    /// Reads a refund.
    public func retrieveRefund(
        _ id: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> Refund {
        try await retrieve("/v1/refunds", id, nil, timeout)
    }
}
