package import PollerPayments

/// The changes that a poll makes to a watch.
package struct WatchChange: Hashable, Sendable {
    /// The values of a change: about 300 bytes with ten references.
    private struct Fields: Hashable, Sendable {
        let state: WatchState
        let payment: PaymentMemory?
        let secret: ClientSecret?
        let events: [Event]
        let lastError: String?
        var seesMoney = false
        var hasCharged = false
    }

    /// A class, because a change passes through about ten functions and lists on its way to the store.
    ///
    /// Each of them copied all values and retained all references.
    private final class Box: Sendable {
        let fields: Fields

        init(_ fields: Fields) { self.fields = fields }
    }

    private var box: Box

    package var state: WatchState { box.fields.state }
    /// The payment facts to store; `nil` keeps the stored ones.
    package var payment: PaymentMemory? { box.fields.payment }
    /// The payment's client secret, if the upstream returned it; `nil` keeps the stored one.
    ///
    /// It is stored unless the watch has one.
    package var secret: ClientSecret? { box.fields.secret }
    /// The events to record and publish, in order; their numbers follow the watch's last one.
    ///
    /// All of them or none are recorded, together with the new state.
    package var events: [Event] { box.fields.events }
    /// The error of the poll, for operators; `nil` clears it.
    package var lastError: String? { box.fields.lastError }
    /// Whether the poll has read everything that earlier hints were about.
    ///
    /// It does not matter for a watch without hints.
    package var seesMoney: Bool {
        get { box.fields.seesMoney }
        set {
            guard newValue != box.fields.seesMoney else { return }
            var fields = box.fields
            fields.seesMoney = newValue
            box = Box(fields)
        }
    }
    /// Whether the poll has charged the source, or may have done so.
    ///
    /// Such a result is recorded even if a request has added an order or a charge meanwhile: repeated for these, the
    /// charge would be another one.
    package var hasCharged: Bool {
        get { box.fields.hasCharged }
        set {
            guard newValue != box.fields.hasCharged else { return }
            var fields = box.fields
            fields.hasCharged = newValue
            box = Box(fields)
        }
    }

    package init(
        state: WatchState,
        payment: PaymentMemory? = nil,
        secret: ClientSecret? = nil,
        events: [Event] = [],
        lastError: String? = nil
    ) {
        box = Box(
            Fields(
                state: state,
                payment: payment,
                secret: secret,
                events: events,
                lastError: lastError
            )
        )
    }

    /// Creates a change with at most one event.
    package init(state: WatchState, event: Event?, lastError: String? = nil) {
        self.init(state: state, events: event.map { [$0] } ?? [], lastError: lastError)
    }

    /// The last event, which contains the status and the close reason; `nil` when there is none.
    package var event: Event? { events.last }

    package static func == (one: WatchChange, other: WatchChange) -> Bool {
        one.box === other.box || one.box.fields == other.box.fields
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(box.fields) }
}
