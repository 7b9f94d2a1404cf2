import JSONText
package import PollerIdentity
import PollerQueue
package import PollerWire
import SafeNumbers

extension Order {
    /// The order on the wire, as it is answered, told and stored.
    package var wire: PollerWire.Order {
        let truth = truth
        var wire = PollerWire.Order()
        wire.order = key.order.description
        wire.account = key.account.description
        wire.payment = truth.payment.wire
        wire.paidBy = truth.paidBy?.source.description
        wire.alsoPaidBy =
            truth.alsoPaidBy.isEmpty ? nil : truth.alsoPaidBy.map(\.source.description)
        wire.seq = seq
        wire.createdAt = Time(ms: createdAt?.ms ?? 0)
        wire.members = members.map { member in
            var wire = PollerWire.Order.Member()
            wire.source = member.key.source.description
            wire.kind = Open(rawValue: member.key.kind.rawValue)
            wire.seq = member.seq
            wire.payment = member.payment.wire
            return wire
        }
        wire.charging = right.map { right in
            var wire = PollerWire.Order.Charging()
            wire.source = right.holder.source.description
            wire.kind = Open(rawValue: right.holder.kind.rawValue)
            wire.seq = right.seq
            wire.number = right.number
            return wire
        }
        return wire
    }

    /// The order as a store keeps it: its version, a space, and the order on the wire.
    package var stored: String { "\(version) \(wire.json)" }

    /// Reads an order back from ``stored``; nil when the text is none.
    ///
    /// What the store counts itself comes beside it.
    package init?(stored text: String, key: OrderKey, createdAt: Timestamp, seq: Int) {
        guard let space = text.firstIndex(of: " "), let version = Int(decimal: text[..<space]),
            let json = RawJSON(String(text[text.index(after: space)...])),
            // Why a text is none is of no use to a reader: nobody but us writes where orders are kept.
            let wire = try? PollerWire.Order(reading: json)
        else { return nil }
        func name(_ source: String, _ kind: String) -> WatchKey {
            WatchKey(
                account: key.account,
                source: SourceID(unchecked: source),
                kind: SourceKind(recorded: kind)
            )
        }
        self.init(
            key: key,
            createdAt: createdAt,
            seq: seq,
            version: version,
            members: wire.members.map { member in
                Member(
                    key: name(member.source, member.kind.rawValue),
                    seq: member.seq,
                    payment: Payment(member.payment)
                )
            },
            right: wire.charging.map { right in
                Right(
                    holder: name(right.source, right.kind.rawValue),
                    seq: right.seq,
                    number: right.number
                )
            }
        )
    }

    /// The order as an item of the queue, with the word that is true of it as its status.
    package var watch: Watch {
        let began = createdAt ?? Timestamp(ms: 0)
        let state = WatchState(status: seq == 0 ? nil : status)
        return Watch(
            key: key.watch,
            policy: .standard,
            createdAt: began,
            deadline: began,
            run: 1,
            seq: seq,
            order: key.order,
            state: state
        )
    }

    /// What is remembered of it as of a payment: how long news of its money may come, which keeps it
    /// for as long as its tries.
    package var memory: PaymentMemory? {
        let last = members.compactMap { member -> Timestamp? in
            guard member.payment.state.wasPaid, let paidAt = member.payment.paidAt else {
                return nil
            }
            return (member.payment.method?.traits ?? .unknown).comesBack.map { paidAt + $0 }
        }.max()
        return last.map { PaymentMemory(newsUntil: $0) }
    }

    private var status: SourceStatus { SourceStatus(unchecked: truth.payment.state.rawValue) }

    /// The events that tell of a change, whose cause was an event of a member; they are counted.
    ///
    /// The last of them has the order with all its members as its object.
    mutating func events(
        _ subjects: [EventSubject],
        since before: Order,
        because cause: Event
    ) -> [Event] {
        let known = Order(
            key: key,
            createdAt: createdAt ?? cause.polledAt,
            seq: before.seq,
            members: before.members
        )
        count(subjects.count, at: cause.polledAt)
        var watch = known.watch
        watch.trace = cause.trace
        return subjects.enumerated().map { place, subject in
            Event(
                watch: watch,
                of: subject,
                at: place,
                status: status,
                final: false,
                payment: truth.payment,
                isLive: cause.isLive,
                object: place == subjects.count - 1 ? RawJSON(unchecked: wire.json) : nil,
                polledAt: cause.polledAt,
                lag: .zero
            )
        }
    }
}
