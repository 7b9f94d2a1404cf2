/// Asks an endpoint whether it hears us, at once and past the queue.
package struct EndpointProbe: Sendable {
    private let channels: [any DeliveryChannel]

    /// Asks through the channel that serves the URL's scheme.
    package init(channels: [any DeliveryChannel]) {
        self.channels = channels
    }

    /// Sends an `endpoint.test` event, signed as every other; also to a disabled endpoint.
    ///
    /// Nil when nothing here delivers to such URLs.
    package func ask(_ endpoint: Endpoint, at now: Timestamp) async -> AttemptResult? {
        guard let channel = channels.first(where: { $0.schemes.contains(endpoint.url.scheme) }),
            let event = Event.test(of: endpoint, at: now)
        else { return nil }
        return await channel.deliver(event, to: DeliveryTarget(endpoint), attempt: 1)
    }
}
