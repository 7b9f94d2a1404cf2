/// SetupIntents; see <https://docs.stripe.com/api/setup_intents>. Errors as with PaymentIntents.
extension StripeClient {
    /// Creates a SetupIntent.
    public func createSetupIntent(
        _ params: SetupIntentParams,
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> SetupIntent {
        try await perform(
            StripeCall(
                .post,
                "/v1/setup_intents",
                form: params.form,
                idempotencyKey: idempotencyKey
            )
        )
    }

    /// Reads a SetupIntent; parameters and errors as ``retrieveSource(_:clientSecret:timeout:)``.
    public func retrieveSetupIntent(
        _ id: String,
        clientSecret: ClientSecret? = nil,
        timeout: Duration? = nil
    ) async throws(StripeError) -> SetupIntent {
        try await retrieve("/v1/setup_intents", id, clientSecret, timeout)
    }

    /// Changes a SetupIntent that has not been confirmed.
    public func updateSetupIntent(
        _ id: String,
        _ params: SetupIntentParams,
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> SetupIntent {
        try await command(
            "/v1/setup_intents",
            id,
            form: params.form,
            idempotencyKey: idempotencyKey
        )
    }

    /// Confirms a SetupIntent: from here on the customer may have to act.
    public func confirmSetupIntent(
        _ id: String,
        _ params: SetupIntentParams = SetupIntentParams(),
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> SetupIntent {
        try await command(
            "/v1/setup_intents",
            id,
            "confirm",
            form: params.form,
            idempotencyKey: idempotencyKey
        )
    }

    /// Gives a SetupIntent up; `reason` is `abandoned`, `duplicate` or `requested_by_customer`.
    public func cancelSetupIntent(
        _ id: String,
        reason: String? = nil,
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> SetupIntent {
        try await command(
            "/v1/setup_intents",
            id,
            "cancel",
            form: reason.map { [("cancellation_reason", $0)] } ?? [],
            idempotencyKey: idempotencyKey
        )
    }

    /// Proves that the customer owns the bank account by two small deposits.
    public func verifyMicrodeposits(
        ofSetupIntent id: String,
        _ proof: MicrodepositProof,
        clientSecret: ClientSecret? = nil,
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> SetupIntent {
        try await command(
            "/v1/setup_intents",
            id,
            "verify_microdeposits",
            form: proof.form(clientSecret),
            idempotencyKey: idempotencyKey
        )
    }

    /// Reads one page of SetupIntents, newest first.
    public func listSetupIntents(
        customer: String? = nil,
        created: TimeBounds = TimeBounds(),
        cursor: PageCursor? = nil,
        limit: Int = 100
    ) async throws(StripeError) -> StripeList<SetupIntent> {
        let filters = created.parameters + (customer.map { [("customer", $0)] } ?? [])
        return try await list("/v1/setup_intents", filters, cursor, limit)
    }
}
