package import PollerIdentity
package import PollerOperations
import PollerQueue
package import PollerWatches

/// The target of one attempt: an inline `notify` URL, or a registered endpoint with its settings.
package struct DeliveryTarget: Hashable, Sendable {
    package let url: NotifyURL
    private let boxedEndpoint: Box<Endpoint>?
    private var boxedSnapshot: Box<WatchSnapshot>?
    /// The trace context for the recipient: the attempt's, or the event's; `nil` without tracing.
    package var trace: TraceContext?

    /// Creates a target for an inline `notify` URL.
    package init(_ url: NotifyURL) {
        self.url = url
        boxedEndpoint = nil
    }

    /// Creates a target for a registered endpoint.
    package init(_ endpoint: Endpoint) {
        url = endpoint.url
        boxedEndpoint = Box(endpoint)
    }

    /// The registered endpoint; `nil` for an inline URL.
    package var endpoint: Endpoint? { boxedEndpoint?.value }

    /// The watch, for channels that need more than the event; `nil` when it was deleted.
    package var snapshot: WatchSnapshot? {
        get { boxedSnapshot?.value }
        set { boxedSnapshot = newValue.map { Box($0) } }
    }

    /// Returns the endpoint's ID, under the account of the watch.
    package func id(account: AccountID) -> EndpointID {
        endpoint?.id ?? EndpointID(account: account, url: url.description)
    }

    /// Returns the bytes to send: the event as recorded, or its short form for a thin payload.
    ///
    /// If the event replaced older ones, `"skipped_seqs":[1,2]` is its last member.
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

/// Resolves the target of a delivery: its inline URL, or the current registered endpoint.
struct DeliveryResolver<Store: WatchStore>: Sendable {
    /// A target, or the decision to record without an attempt.
    enum Resolution: Sendable {
        case target(DeliveryTarget)
        case instead(Decision<DeliveryChange>)
    }

    /// The wait of a delivery to a disabled endpoint: by then its lane is paused.
    private static var pause: Duration { .seconds(1) }
    /// The wait of a delivery to an endpoint that only another release understands.
    private static var foreignPause: Duration { .seconds(60) }

    let store: Store
    let directory: EndpointDirectory?

    func resolve(_ delivery: Delivery) async -> Resolution {
        if let url = delivery.url { return .target(DeliveryTarget(url)) }
        do throws(StoreError) {
            guard let endpoint = try await directory?.endpoint(delivery.endpoint) else {
                // The endpoint was removed, so there is no recipient, and the dead letters are dismissed.
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
            guard case .corrupt = error else {
                return .instead(.silent(.next(after: Self.pause), delivery.state, why: why))
            }
            // A notifier of the release that wrote the endpoint goes first.
            let waiting = Decision<DeliveryChange>.silent(
                .next(after: Self.foreignPause),
                delivery.state,
                why: why
            )
            return .instead(waiting.preferringOtherProcesses)
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
    /// Returns a decision without an attempt, which does not count for or against the recipient.
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
