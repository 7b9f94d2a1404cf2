package import Poller

/// What the routes of endpoints work on.
package struct EndpointDesk: Sendable {
    package let store: any EndpointStore
    package let probe: EndpointProbe
    /// What holds for endpoints without a limit of their own.
    package let standardLimit: LaneLimit
    /// What signs webhooks of inline `notify` URLs; nil where this process does not know it.
    package let inlineSecret: WebhookSecret?

    /// Puts a desk together.
    ///
    /// - Parameters:
    ///   - store: the registry.
    ///   - probe: sends test events.
    ///   - standardLimit: what holds for endpoints without a limit of their own.
    ///   - inlineSecret: what signs webhooks of inline `notify` URLs.
    package init(
        store: any EndpointStore,
        probe: EndpointProbe,
        standardLimit: LaneLimit,
        inlineSecret: WebhookSecret?
    ) {
        self.store = store
        self.probe = probe
        self.standardLimit = standardLimit
        self.inlineSecret = inlineSecret
    }
}
