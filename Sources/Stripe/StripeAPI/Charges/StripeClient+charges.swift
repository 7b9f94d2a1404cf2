/// Charges and refunds; see <https://docs.stripe.com/api/charges> and <https://docs.stripe.com/api/refunds>.
extension StripeClient {
    /// Charges a Source.
    ///
    /// Use the order ID as the idempotency key, so that concurrent callers charge only once.
    ///
    /// - Parameters:
    ///   - source: A chargeable Source.
    ///   - amount: The amount in the currency's smallest unit.
    ///   - currency: The currency code: three letters, lower case.
    ///   - idempotencyKey: The key shared by all callers that may charge this order.
    /// - Returns: The charge, which may still be pending.
    /// - Throws: Any ``StripeError``; a decline is `api` with status 402. After an error that
    ///   ``StripeError/isIndeterminate``, repeat with the same key or search for the charge. Never use a new key.
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

    /// Creates a charge with the same key and errors as ``createCharge(source:amount:currency:idempotencyKey:)``.
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

    /// Retrieves a charge.
    public func retrieveCharge(
        _ id: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> Charge {
        try await retrieve("/v1/charges", id, nil, timeout)
    }

    /// Reads one page of charges, newest first.
    ///
    /// Use it to find a charge whose creation had an unknown result.
    ///
    /// - Parameters:
    ///   - paymentIntent: Includes only the charges of this PaymentIntent.
    ///   - customer: Includes only the charges of this customer.
    ///   - created: The range of creation times.
    ///   - cursor: The position of the page; `nil` starts at the newest object.
    ///   - limit: The page size, from 1 to 100.
    /// - Returns: One page of the list.
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

    /// Returns all charges, newest first; pages are loaded on demand.
    public func charges(created: TimeBounds = TimeBounds()) -> StripePages<Charge> {
        StripePages(from: nil) { cursor throws(StripeError) in
            try await listCharges(created: created, cursor: cursor)
        }
    }

    /// Retrieves a refund.
    public func retrieveRefund(
        _ id: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> Refund {
        try await retrieve("/v1/refunds", id, nil, timeout)
    }
}
