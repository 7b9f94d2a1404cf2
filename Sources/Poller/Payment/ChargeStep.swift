/// What a poll of a watch with an order to charge is there for.
enum ChargeStep: Hashable, Sendable {
    /// To look at the source; and then, when it is still chargeable, to charge it, or when it is
    /// consumed and nobody knows by what, to look for its charge.
    case source
    /// To look at the charge that the bank had not answered.
    case charge(ChargeID)

    /// What comes next for a watch.
    ///
    /// A charge that is pending is looked at once it has consumed the source; a reusable source,
    /// which stays chargeable, has then been looked at once more.
    init(_ watch: Watch) {
        if case .pending(let id) = watch.state.charge,
            watch.state.status == .consumed || watch.state.step > 0
        {
            self = .charge(id)
        } else {
            self = .source
        }
    }

    /// What is to be done about the charge after the source was seen; nil: nothing.
    enum Action: Hashable, Sendable {
        case charge(ChargeOrder)
        case find
    }

    /// What is to be done now that the source was seen so.
    static func action(_ watch: Watch, seeing seen: Observation) -> Action? {
        guard let order = watch.charge, !watch.state.charge.isSettled,
            watch.state.charge.charge == nil
        else { return nil }
        switch seen.status {
        // The change is told first: the charge then has a poll of its own.
        case .chargeable:
            let isTold = watch.state.status == .chargeable && watch.state.detail == seen.detail
            return isTold ? .charge(order) : nil
        case .consumed: return .find
        default: return nil
        }
    }
}
