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

    /// Changes a Source: amount, owner, mandate, metadata and fields of its type.
    ///
    /// - Parameters:
    ///   - id: `src_…`.
    ///   - changes: What to change; everything else stays.
    ///   - idempotencyKey: Made by the configuration when nil.
    /// - Returns: The Source as it is now.
    /// - Throws: Any ``StripeError``.
    public func updateSource(
        _ id: String,
        _ changes: SourceChanges,
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> Source {
        let path = try StripeCall.path("/v1/sources", id)
        return try await perform(
            StripeCall(.post, path, form: changes.form, idempotencyKey: idempotencyKey)
        )
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
        let path = try StripeCall.path("/v1/sources", id, tail: "/verify")
        let form = values.map { ("values[]", $0) }
        return try await perform(
            StripeCall(.post, path, form: form, idempotencyKey: idempotencyKey)
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
        var changes = SourceChanges()
        changes.additionalAPIParameters = attributes.parameters
        return try await updateSource(id, changes, idempotencyKey: idempotencyKey)
    }

    /// Reads one page of the payments that reached a receiver Source, newest first.
    ///
    /// - Parameters:
    ///   - id: `src_…`.
    ///   - cursor: Where the page begins; the newest when nil.
    ///   - limit: 1 to 100.
    /// - Returns: The page.
    /// - Throws: Any ``StripeError``.
    public func listSourceTransactions(
        ofSource id: String,
        cursor: PageCursor? = nil,
        limit: Int = 100
    ) async throws(StripeError) -> StripeList<SourceTransaction> {
        let path = try StripeCall.path("/v1/sources", id, tail: "/source_transactions")
        return try await list(path, [], cursor, limit)
    }

    /// All payments that reached a receiver Source, page after page.
    public func sourceTransactions(
        ofSource id: String,
        cursor: PageCursor? = nil
    ) -> StripePages<SourceTransaction> {
        StripePages(from: cursor) { cursor throws(StripeError) in
            try await listSourceTransactions(ofSource: id, cursor: cursor)
        }
    }

    /// Reads one payment that reached a receiver Source.
    public func retrieveSourceTransaction(
        _ id: String,
        ofSource source: String
    ) async throws(StripeError) -> SourceTransaction {
        let path = try StripeCall.path("/v1/sources", source, tail: "/source_transactions")
        return try await retrieve(path, id, nil, nil)
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

    /// Attaches a reusable Source to a customer; it must be pending or chargeable.
    public func attachSource(
        _ id: String,
        toCustomer customer: String,
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> Source {
        let path = try StripeCall.path("/v1/customers", customer, tail: "/sources")
        return try await perform(
            StripeCall(.post, path, form: [("source", id)], idempotencyKey: idempotencyKey)
        )
    }

    /// Detaches a Source from its customer, which consumes it for good.
    public func detachSource(
        _ id: String,
        fromCustomer customer: String
    ) async throws(StripeError) -> Source {
        let path = try StripeCall.path(
            try StripeCall.path("/v1/customers", customer, tail: "/sources"),
            id
        )
        return try await perform(StripeCall(.delete, path))
    }
}
