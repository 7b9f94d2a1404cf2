import Poller
import PollerTesting

@testable import PollerAPI

extension EndpointDesk {
    /// The secret of inline webhooks of every server under test.
    static let inlineSecret = "whsec_" + String(repeating: "aW5saW5l", count: 4)

    /// A registry in memory, whose tests go through `channels`.
    static func inMemory(
        time: any StoreTime,
        channels: [any DeliveryChannel] = []
    ) -> EndpointDesk {
        EndpointDesk(
            store: MemoryEndpointStore(time: time),
            probe: EndpointProbe(channels: channels),
            standardLimit: LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 16),
            inlineSecret: try? WebhookSecret(inlineSecret)
        )
    }
}
