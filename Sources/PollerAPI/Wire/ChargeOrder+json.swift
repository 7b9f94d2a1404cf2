import Poller
import PollerWire

extension ChargeOrder {
    /// Checks the `charge` of a request.
    ///
    /// Errors: a ``Problem`` that names the field.
    init(_ charge: WatchCharge) throws(Problem) {
        guard !charge.isNothing else {
            self = .nothing
            return
        }
        self = try Problem.checked { () throws(InvalidInput) in
            try ChargeOrder(
                amount: charge.amount,
                currency: charge.currency,
                note: charge.note,
                statementDescriptor: charge.statementDescriptor,
                metadata: charge.metadata?.dictionary ?? [:]
            )
        }
    }
}
