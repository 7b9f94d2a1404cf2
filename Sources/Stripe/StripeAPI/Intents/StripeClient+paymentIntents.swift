/// PaymentIntents; see <https://docs.stripe.com/api/payment_intents>.
extension StripeClient {
    /// Creates a PaymentIntent.
    ///
    /// - Parameters:
    ///   - params: Amount and currency at least.
    ///   - idempotencyKey: Made by the configuration when nil; the order's id is a good one.
    /// - Returns: The intent.
    /// - Throws: Any ``StripeError``; with `confirm` a decline is `api` with status 402.
    public func createPaymentIntent(
        _ params: PaymentIntentParams,
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> PaymentIntent {
        try await createPaymentIntent(params.form, idempotencyKey: idempotencyKey)
    }

    /// Creates a PaymentIntent from form fields.
    public func createPaymentIntent(
        _ form: [(String, String)],
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> PaymentIntent {
        try await perform(
            StripeCall(.post, "/v1/payment_intents", form: form, idempotencyKey: idempotencyKey)
        )
    }

    /// Reads a PaymentIntent; parameters and errors as ``retrieveSource(_:clientSecret:timeout:)``.
    public func retrievePaymentIntent(
        _ id: String,
        clientSecret: ClientSecret? = nil,
        timeout: Duration? = nil
    ) async throws(StripeError) -> PaymentIntent {
        try await retrieve("/v1/payment_intents", id, clientSecret, timeout)
    }

    /// Confirms a PaymentIntent: from here on the customer may have to act.
    ///
    /// - Parameters:
    ///   - id: `pi_…`.
    ///   - params: The payment method and where the customer returns to; the client secret with a publishable key.
    ///   - idempotencyKey: Made by the configuration when nil.
    /// - Returns: The intent, in any state from `requires_action` to `succeeded`.
    /// - Throws: Any ``StripeError``; a decline is `api` with status 402.
    public func confirmPaymentIntent(
        _ id: String,
        _ params: PaymentIntentParams = PaymentIntentParams(),
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> PaymentIntent {
        try await command(
            "/v1/payment_intents",
            id,
            "confirm",
            form: params.form,
            idempotencyKey: idempotencyKey
        )
    }

    /// Gives a PaymentIntent up; not possible once it has succeeded.
    ///
    /// - Parameters:
    ///   - id: `pi_…`.
    ///   - reason: `abandoned`, `duplicate`, `fraudulent` or `requested_by_customer`.
    ///   - idempotencyKey: Made by the configuration when nil.
    /// - Returns: The intent, canceled.
    /// - Throws: Any ``StripeError``; too late is `api` with code `payment_intent_unexpected_state`.
    public func cancelPaymentIntent(
        _ id: String,
        reason: String? = nil,
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> PaymentIntent {
        try await command(
            "/v1/payment_intents",
            id,
            "cancel",
            form: reason.map { [("cancellation_reason", $0)] } ?? [],
            idempotencyKey: idempotencyKey
        )
    }
}
