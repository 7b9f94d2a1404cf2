/// A delivery as it stands right now.
package struct DeliverySnapshot: Hashable, Sendable {
    /// Where it is in the queue.
    package enum Place: Hashable, Sendable {
        case waiting(due: Timestamp)
        /// In a notifier's hands.
        case leased
        /// Until its watch has something new.
        case resting
    }

    /// How it stands, for people.
    package enum State: String, Hashable, Sendable, CaseIterable {
        /// Due, or held back by its endpoint; nothing of it has failed.
        case waiting
        case inFlight = "in_flight"
        /// It failed and is tried again.
        case failing
        /// Nothing is tried any more, and something was given up.
        case dead
        /// Everything was accepted.
        case done
    }

    package let id: DeliveryID
    package let delivery: Delivery
    package let place: Place
    /// Why the last attempt failed; nil after one that was accepted.
    package let lastError: String?

    /// Puts a snapshot together, as a store does.
    package init(id: DeliveryID, delivery: Delivery, place: Place, lastError: String?) {
        self.id = id
        self.delivery = delivery
        self.place = place
        self.lastError = lastError
    }

    /// How it stands.
    package var state: State {
        switch place {
        case .leased: .inFlight
        case .waiting where delivery.state.failures > 0: .failing
        // A probe of an open circuit counts no failure.
        case .waiting: delivery.state.failedSince != nil && lastError != nil ? .failing : .waiting
        case .resting: delivery.state.dead.isEmpty ? .done : .dead
        }
    }

    /// Whether it belongs into a list of `state`; one that goes on with dead letters is also in
    /// the list of the dead.
    package func isListed(as state: State) -> Bool {
        self.state == state || state == .dead && !delivery.state.dead.isEmpty
    }
}
