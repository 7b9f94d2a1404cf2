/// The result of processing a Stripe webhook.
package struct WebhookResult: WireObject, Hashable {
    /// The result code.
    package enum Result: String, Word {
        case accepted, duplicate, ignored
        case setAside = "set_aside"
    }

    package var result = Open(Result.accepted)
    package var hinted: Int?
    package var enqueued: Int?
    package var reason: String?

    package init() {}

    package static let shape = Shape<WebhookResult>(
        "WebhookResult",
        .keyword("additionalProperties", "false")
    ) {
        Field("result", \.result)
        Field("hinted", \.hinted).note("Open watches made due now.")
        Field("enqueued", \.enqueued).note("Unknown sources that are now watched.")
        Field("reason", \.reason)
    }
}
