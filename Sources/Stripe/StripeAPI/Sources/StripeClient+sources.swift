/// Sources; see <https://docs.stripe.com/api/sources>. There is no list of Sources: keep your own.
extension StripeClient {
    /// Creates a Source.
    ///
    /// - Parameters:
    ///   - params: The payment method and its fields.
    ///   - idempotencyKey: Made by the configuration when nil; give your own when another process may repeat it.
    /// - Returns: The Source, `pending` or at once `chargeable`; ``Source/nextStep`` says what follows.
    /// - Throws: Any ``StripeError``; bad fields are `api` with status 400, a code such as `invalid_owner_name`,
    ///   `payment_method_not_available` or `processing_error` (try again) and the parameter at fault.
    public func createSource(
        _ params: SourceParams,
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> Source {
        try await createSource(params.form, idempotencyKey: idempotencyKey)
    }

    /// Creates a Source from form fields such as `("owner[name]", "Jenny Rosen")`.
    public func createSource(
        _ form: [(String, String)],
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> Source {
        try await perform(
            StripeCall(.post, "/v1/sources", form: form, idempotencyKey: idempotencyKey)
        )
    }

    /// Reads a Source.
    ///
    /// - Parameters:
    ///   - id: `src_…`.
    ///   - clientSecret: Required with a publishable key, which then gets no metadata; otherwise optional.
    ///   - timeout: One try's; the configuration's when nil.
    /// - Returns: The Source as it is now.
    /// - Throws: Any ``StripeError``; an unknown id is `api` with status 404 and code `resource_missing`.
    public func retrieveSource(
        _ id: String,
        clientSecret: ClientSecret? = nil,
        timeout: Duration? = nil
    ) async throws(StripeError) -> Source {
        try await retrieve("/v1/sources", id, clientSecret, timeout)
    }

    /// Answers what a Source with flow `code_verification` asks for.
    ///
    /// - Parameters:
    ///   - id: `src_…`.
    ///   - values: The code, or the amounts of two micro-deposits in cents as `["32", "45"]`.
    ///   - idempotencyKey: Made by the configuration when nil.
    /// - Returns: The Source; a wrong answer leaves fewer ``SourceVerification/attemptsRemaining``, and none
    ///   with status `failed`.
    /// - Throws: Any ``StripeError``; a wrong answer may also be `api` with status 400 or 402.
    public func verifySource(
        _ id: String,
        values: [String],
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> Source {
        let form = values.map { ("values[]", $0) }
        return try await command(
            "/v1/sources",
            id,
            "verify",
            form: form,
            idempotencyKey: idempotencyKey
        )
    }

    /// Says where the refund of a receiver Source goes.
    ///
    /// Needed when ``SourceReceiver/refundAttributesMethod`` is `manual`; the event
    /// `source.refund_attributes_required` says when.
    /// - Parameters:
    ///   - id: `src_…`.
    ///   - attributes: Whose account the money goes to.
    ///   - idempotencyKey: Made by the configuration when nil.
    /// - Returns: The Source, its ``SourceReceiver/refundAttributesStatus`` then `available`.
    /// - Throws: Any ``StripeError``.
    public func setRefundAttributes(
        ofSource id: String,
        _ attributes: SourceRefundAttributes,
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> Source {
        let form = FormFields.pairs(of: .object(attributes.parameters))
        return try await command("/v1/sources", id, form: form, idempotencyKey: idempotencyKey)
    }

    /// Reads a notice of a coming debit.
    ///
    /// - Parameters:
    ///   - id: `srcmn_…`.
    ///   - source: The Source that will be debited, `src_…`.
    ///   - timeout: One try's; the configuration's when nil.
    /// - Returns: The notice.
    /// - Throws: Any ``StripeError``; a notice of another Source is `api` with status 404.
    public func retrieveMandateNotification(
        _ id: String,
        ofSource source: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> MandateNotification {
        let path = try StripeCall.path("/v1/sources", source, tail: "/mandate_notifications")
        return try await retrieve(path, id, nil, timeout)
    }
}
