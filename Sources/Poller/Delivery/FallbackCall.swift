/// Has the fallback of an endpoint told of what the endpoint did not accept in time.
///
/// Whoever calls records after it that this is done: a crash between the two calls again, and the
/// fallback may be told again under the same event id.
struct FallbackCall: Sendable {
    let directory: EndpointDirectory?
    let deliveries: any DeliveryQueue

    /// Marks the fallback's delivery; it is told whatever it asked for.
    func make(_ event: Event, to fallback: EndpointID) async throws(StoreError) {
        // What the fallback asked for itself it is told in its order.
        let isWanted = try await directory?.endpoint(fallback)?.wants(event) == true
        let mark = DeliveryMark(
            endpoint: fallback,
            watch: event.key,
            telling: isWanted ? nil : event.seq
        )
        try await deliveries.mark([mark])
    }
}
