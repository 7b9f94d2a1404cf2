package import PollerIdentity
import PollerQueue

/// Where one attempt goes: an inline `notify` URL, or a registered endpoint with its choices.
package struct DeliveryTarget: Hashable, Sendable {
    package let url: NotifyURL
    /// Nil for an inline URL.
    package let endpoint: Endpoint?
    /// The watch that is told of, for channels that say more than the event does; nil when it is gone.
    package var snapshot: WatchSnapshot?
    /// What the receiver is told of the trace: the attempt itself, or what the event has; nil where nobody traces.
    package var trace: TraceContext?

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
                // Removed: nobody is left to tell, nor to mind what was given up.
                var state = delivery.state
                state.dismiss()
                return .instead(.silent(.close(.cancelled), state))
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
    /// Nothing was tried, so it does not count for or against the receiver.
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
