import PollerIdentity
import PollerPayments
import PollerWatches

/// The task of a poll of a watch with a ``ChargeInstruction``.
enum ChargeStep: Hashable, Sendable {
    /// Read the source.
    ///
    /// Then charge it if it is still chargeable, or search for its charge if it was consumed by an unknown one.
    case source
    /// Read a charge that the bank had not answered.
    case charge(ChargeID)

    /// Chooses the next step of a watch.
    ///
    /// A pending charge is read once it has consumed the source. A reusable source stays chargeable and is read once
    /// more before. Every known charge is read when a hint has reopened the watch, because its money may have moved.
    init(_ watch: Watch) {
        if watch.isReview, let id = watch.state.charge.charge {
            self = .charge(id)
        } else if case .pending(let id) = watch.state.charge,
            watch.state.status == .consumed || watch.state.step > 0
        {
            self = .charge(id)
        } else {
            self = .source
        }
    }

    /// Whether stored facts of a charge may be outdated when they are reported with its source.
    ///
    /// They are not if the previous poll, a moment ago, read the charge. The poll that finds the source consumed by its
    /// charge then needs one GET. For a hold, its release is not stored.
    static func isOld(_ watch: Watch, at now: Timestamp) -> Bool {
        if case .succeeded = watch.state.charge, watch.payment?.money == nil { return true }
        guard let last = watch.state.lastPolledAt, watch.state.step == 0, watch.state.failures == 0
        else { return true }
        return !(Duration.zero...factsLifetime).contains(now - last)
    }

    /// The age up to which stored facts of a charge may be reported again.
    private static let factsLifetime = Duration.seconds(2)

    /// The action on the charge after the source was read.
    enum Action: Hashable, Sendable {
        case charge(ChargeInstruction)
        case find
    }

    /// Returns the action after this observation of the source; `nil` for none.
    ///
    /// If no charge was ordered, the charge that consumed the source is searched when its money may have moved. If the
    /// ordered charge was refused, another one has consumed the source, perhaps the shop's own. A source that stays
    /// chargeable does not show its charge, which is searched when a hint is about one (`mayBeCharged`).
    static func action(_ watch: Watch, seeing seen: Observation) -> Action? {
        if watch.state.charge == .failed, seen.status == .consumed { return .find }
        let isKnown = watch.state.charge != .none && watch.state.charge != .failed
        if watch.charge == nil, !isKnown, seen.isSteadySource, mayBeCharged(watch, seen) {
            return .find
        }
        if watch.isReview || watch.pendingHint == .money, watch.charge == nil,
            watch.state.charge == .none
        {
            return seen.status == .consumed ? .find : nil
        }
        guard let instruction = watch.charge, !watch.state.charge.isSettled,
            watch.state.charge.charge == nil
        else { return nil }
        switch seen.status {
        // The change is reported first, so the charge has a poll of its own.
        case .chargeable:
            let wasReported = watch.state.status == .chargeable && watch.state.detail == seen.detail
            return wasReported ? .charge(instruction) : nil
        case .consumed: return .find
        default: return nil
        }
    }

    /// Whether a search for the charge of a source that stays chargeable is worth a request.
    ///
    /// It is when a bank has answered, when money has moved, or in the first poll of a source with an order, which may
    /// be charged already.
    private static func mayBeCharged(_ watch: Watch, _ seen: Observation) -> Bool {
        if watch.isReview || watch.pendingHint == .outcome || watch.pendingHint == .money {
            return true
        }
        return watch.state.status == nil && watch.order != nil
    }
}

extension Observation {
    /// Whether it is a reusable Stripe source, which may be charged repeatedly.
    var isSteadySource: Bool { status == .chargeable && rank == .steady }
}
