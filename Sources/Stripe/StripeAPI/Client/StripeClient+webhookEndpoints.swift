/// Webhook endpoints, at most 16 an account; see <https://docs.stripe.com/api/webhook_endpoints>.
extension StripeClient {
    /// Creates an endpoint; its secret is in this answer alone.
    ///
    /// - Parameters:
    ///   - params: URL and event types at least.
    ///   - idempotencyKey: Made by the configuration when nil.
    /// - Returns: The endpoint with its ``WebhookEndpoint/secret``: keep it.
    /// - Throws: Any ``StripeError``.
    public func createWebhookEndpoint(
        _ params: WebhookEndpointParams,
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> WebhookEndpoint {
        try await perform(
            StripeCall(
                .post,
                "/v1/webhook_endpoints",
                form: params.form,
                idempotencyKey: idempotencyKey
            )
        )
    }

    /// Reads an endpoint.
    public func retrieveWebhookEndpoint(
        _ id: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> WebhookEndpoint {
        try await retrieve("/v1/webhook_endpoints", id, nil, timeout)
    }

    /// Changes an endpoint; its API version is fixed at its creation.
    public func updateWebhookEndpoint(
        _ id: String,
        _ params: WebhookEndpointParams,
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> WebhookEndpoint {
        try await command(
            "/v1/webhook_endpoints",
            id,
            form: params.form,
            idempotencyKey: idempotencyKey
        )
    }

    /// Removes an endpoint.
    public func deleteWebhookEndpoint(
        _ id: String
    ) async throws(StripeError) -> DeletedObject {
        try await perform(
            StripeCall(.delete, try StripeCall.path("/v1/webhook_endpoints", id))
        )
    }

    /// Reads one page of endpoints, newest first.
    public func listWebhookEndpoints(
        cursor: PageCursor? = nil,
        limit: Int = 100
    ) async throws(StripeError) -> StripeList<WebhookEndpoint> {
        try await list("/v1/webhook_endpoints", [], cursor, limit)
    }

    /// All endpoints, page after page.
    public func webhookEndpoints() -> StripePages<WebhookEndpoint> {
        StripePages(from: nil) { cursor throws(StripeError) in
            try await listWebhookEndpoints(cursor: cursor)
        }
    }
}
