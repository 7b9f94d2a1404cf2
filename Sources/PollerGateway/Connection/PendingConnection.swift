import NIOCore
import NIOHTTP1
import PollerNet

/// A connection until its request is answered: its deadline and its slot in the connection gate.
///
/// It is used in the connection's event loop only.
final class PendingConnection {
    /// The time from connecting to a complete head.
    static let requestMax = TimeAmount.seconds(10)
    /// The time from the head to the first bytes of a stream, or to the end of a short response.
    ///
    /// Meanwhile credentials and cursors are read from the store, within its time limits.
    static let answerMax = TimeAmount.seconds(30)

    /// The request to reject without reading its body, and the reason; `nil` if there is none.
    var refused: (head: HTTPRequestHead, refusal: Refusal)?
    private let channel: any Channel
    /// Its place among the pending connections of its address.
    ///
    /// Work that outlasts the connection holds it until its end.
    private(set) var slot: SlotCounter.Slot?
    private var deadline: Scheduled<Void>?

    init(_ channel: any Channel, _ slot: SlotCounter.Slot) {
        self.channel = channel
        self.slot = slot
        close(after: Self.requestMax)
    }

    /// Closes the connection after a span unless it is answered before.
    func close(after span: TimeAmount) {
        deadline?.cancel()
        deadline = channel.eventLoop.scheduleTask(in: span) { [channel] in
            channel.close(promise: nil)
        }
    }

    /// Cancels the deadline and frees the slot, because the connection has become a stream or is closed.
    func end() {
        deadline?.cancel()
        (deadline, slot) = (nil, nil)
    }
}
