import HTTPTypes

extension SandboxState {
    /// `POST`, `GET /v1/webhook_endpoints`, `GET` and `DELETE /v1/webhook_endpoints/{id}`.
    mutating func routeWebhooks(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        switch (call.method, call.segments.count) {
        case (.post, 1): return try createWebhook(call)
        case (.get, 1):
            return try Self.page(
                call,
                kind: "webhook endpoint",
                numbers: 0..<webhooks.count,
                number: { id in webhooks.firstIndex { $0.id == id } },
                json: { webhooks[$0].json(withSecret: false) }
            )
        case (.get, 2):
            return APIReply(body: webhooks[try webhookIndex(call)].json(withSecret: false))
        case (.delete, 2):
            let removed = webhooks.remove(at: try webhookIndex(call))
            return APIReply(
                body: JSONWriter.object { writer in
                    writer.field("id", removed.id)
                    writer.field("object", "webhook_endpoint")
                    writer.field("deleted", true)
                }
            )
        default: throw Self.unrecognized(call)
        }
    }

    private func webhookIndex(_ call: APICall) throws(APIError) -> Int {
        let id = String(call.segments[1])
        guard let index = webhooks.firstIndex(where: { $0.id == id }) else {
            throw APIError.noSuch("webhook endpoint", id)
        }
        return index
    }

    private mutating func createWebhook(_ call: APICall) throws(APIError) -> APIReply {
        let form = call.form
        try form.allow([
            "api_version", "connect", "description", "enabled_events", "expand", "metadata", "url",
        ])
        let url = try form.required("url")
        guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
            throw APIError.invalid(
                "Invalid URL: An explicit scheme (such as https) must be provided.",
                code: "url_invalid",
                param: "url"
            )
        }
        let events = form.list("enabled_events")
        guard !events.isEmpty else { throw APIError.missing("enabled_events") }
        guard webhooks.count < Self.webhooksMax else {
            throw APIError.invalid(
                "You have reached the maximum of \(Self.webhooksMax) test webhook endpoints."
            )
        }
        let webhook = SandboxWebhook(
            id: ids.make("we_"),
            url: url,
            secret: ids.make("whsec_", length: 32),
            created: nowSeconds,
            events: events,
            description: form["description"],
            apiVersion: form["api_version"],
            metadata: form.texts("metadata")
        )
        webhooks.append(webhook)
        return APIReply(body: webhook.json(withSecret: true))
    }
}
