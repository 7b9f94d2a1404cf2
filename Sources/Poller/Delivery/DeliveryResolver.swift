/// Finds out where a delivery goes: its inline URL, or the registered endpoint as it is now.
struct DeliveryResolver<Store: WatchStore>: Sendable {
    /// Where to, or what to record instead of an attempt.
    enum Resolution: Sendable {
        case target(DeliveryTarget)
        case instead(Decision<DeliveryChange>)
    }

    /// How long a delivery waits that should not have been claimed: by then its lane is paused.
    private static var pause: Duration { .seconds(1) }

    let store: Store
    let directory: EndpointDirectory?

    func resolve(_ delivery: Delivery) async -> Resolution {
        if let url = delivery.url { return .target(DeliveryTarget(url)) }
        do throws(StoreError) {
            guard let endpoint = try await directory?.endpoint(delivery.endpoint) else {
                // Removed: nobody is left to tell.
                return .instead(.silent(.close(.cancelled), delivery.state))
            }
            guard endpoint.isEnabled else {
                let why = "the endpoint is disabled"
                return .instead(.silent(.next(after: Self.pause), delivery.state, why: why))
            }
            guard try await admits(delivery, endpoint) else {
                return .instead(.silent(.rest, delivery.state))
            }
            return .target(DeliveryTarget(endpoint))
        } catch {
            let why = "endpoint unreadable: \(error)"
            return .instead(.silent(.next(after: Self.pause), delivery.state, why: why))
        }
    }

    private func admits(
        _ delivery: Delivery,
        _ endpoint: Endpoint
    ) async throws(StoreError) -> Bool {
        if endpoint.scope.metadata.isEmpty { return true }
        guard let snapshot = try await store.snapshot(of: delivery.watch) else { return false }
        return endpoint.scope.admits(metadata: snapshot.metadata)
    }
}

extension Decision<DeliveryChange> {
    /// Nothing was tried, which says nothing about the receiver.
    static func silent(
        _ verdict: Verdict,
        _ state: DeliveryState,
        why: String? = nil
    ) -> Decision<DeliveryChange> {
        Decision(
            verdict: verdict,
            change: DeliveryChange(state: state, lastError: why),
            signal: .hold(.zero)
        )
    }
}
