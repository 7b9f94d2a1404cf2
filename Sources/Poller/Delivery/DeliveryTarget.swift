/// Where one attempt goes: an inline `notify` URL, or a registered endpoint with its choices.
package struct DeliveryTarget: Hashable, Sendable {
    package let url: NotifyURL
    /// Nil for an inline URL.
    package let endpoint: Endpoint?

    /// An inline `notify` URL.
    package init(_ url: NotifyURL) {
        self.url = url
        endpoint = nil
    }

    /// A registered endpoint.
    package init(_ endpoint: Endpoint) {
        url = endpoint.url
        self.endpoint = endpoint
    }

    /// The endpoint's id, under the account of what it is told.
    package func id(account: AccountID) -> EndpointID {
        endpoint?.id ?? EndpointID(account: account, url: url.description)
    }

    /// The bytes to send: the event as recorded, or what is left of it for a thin payload.
    ///
    /// Where older events gave way to this one, `"skipped_seqs":[1,2]` is its last member.
    package func body(of event: Event) -> String {
        let body = endpoint?.payload == .thin ? event.thinJSON : event.json
        guard !event.skippedSeqs.isEmpty else { return body }
        let seqs = event.skippedSeqs.map(String.init).joined(separator: ",")
        return "\(body.dropLast()),\"skipped_seqs\":[\(seqs)]}"
    }
}

extension DeliveryChannel {
    /// Makes one attempt at an inline `notify` URL.
    package func deliver(
        _ event: Event,
        to url: NotifyURL,
        attempt: Int
    ) async -> AttemptResult {
        await deliver(event, to: DeliveryTarget(url), attempt: attempt)
    }
}
