package import PollerIdentity
package import PollerWatches
import PollerWire

extension PollerWatches.Event {
    /// Creates the test event of an endpoint, which is about no source.
    package static func test(of endpoint: Endpoint, at now: Timestamp) -> PollerWatches.Event? {
        var wire = PollerWire.Event()
        wire.id =
            "evt_test_" + Digest.base64url(of: [endpoint.id.description, "\(now)"], bytes: 12)
        wire.type = "endpoint.test"
        wire.account = endpoint.account.description
        wire.source = "src_test"
        wire.observed.polledAt = Time(ms: now.ms)
        wire.observed.lagMs = 0
        return Event(json: wire.json)
    }
}
