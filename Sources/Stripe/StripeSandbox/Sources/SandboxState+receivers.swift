extension SandboxState {
    /// Money arrives for a receiver source: all of it, a part, too much, or too late.
    ///
    /// - Parameters:
    ///   - id: A source with a receiver.
    ///   - amount: In the currency's smallest unit.
    ///   - isPending: Whether the bank announces it first and it arrives after the automatic delay.
    mutating func pay(_ id: String, amount: Int, isPending: Bool) {
        guard let source = sources[id], source.receiver != nil else { return }
        let transaction = SandboxTransaction(
            id: ids.make("srctxn_"),
            source: id,
            type: source.type,
            amount: amount,
            currency: source.currency ?? "eur",
            created: nowSeconds,
            status: isPending ? "pending" : "succeeded"
        )
        transactions[id, default: []].append(transaction)
        emit("source.transaction.created", transaction.json(), account: source.account)
        if isPending {
            soon(.settleTransaction(transaction.id, source: id))
        } else {
            receive(amount, for: id)
        }
    }

    /// A pending payment arrives.
    mutating func settleTransaction(_ id: String, of sourceID: String) {
        guard let source = sources[sourceID],
            let index = transactions[sourceID]?.firstIndex(where: { $0.id == id }),
            var transaction = transactions[sourceID]?[index], transaction.status == "pending"
        else { return }
        transaction.status = "succeeded"
        transactions[sourceID]?[index] = transaction
        emit(
            "source.transaction.updated",
            transaction.json(),
            account: source.account,
            previous: JSONWriter.object { $0.field("status", "pending") }
        )
        receive(transaction.amount, for: sourceID)
    }

    private mutating func receive(_ amount: Int, for id: String) {
        guard var source = sources[id], var receiver = source.receiver else { return }
        receiver.received += amount
        let isOver = !["pending", "chargeable"].contains(source.status)
        // Money for a source that is over goes back at once.
        if isOver { receiver.returned += amount }
        source.receiver = receiver
        source.changed()
        sources[id] = source
        if isOver {
            requestRefundAttributes(id)
        } else if source.status == "pending", receiver.available >= source.amount ?? 1 {
            settleSource(id, to: "chargeable")
        }
    }

    /// Asks where money can be sent back to, unless that is known.
    mutating func requestRefundAttributes(_ id: String) {
        guard let source = sources[id], let receiver = source.receiver,
            receiver.refundMethod != "none", receiver.refundStatus == "missing"
        else { return }
        sources[id]?.receiver?.refundStatus = "requested"
        sources[id]?.changed()
        emit("source.refund_attributes_required", sourceJSON(id), account: source.account)
    }

    /// The customer told where money can be sent back to; refunds that waited for it arrive.
    mutating func refundAttributesArrived(_ id: String) {
        guard sources[id]?.receiver != nil else { return }
        sources[id]?.receiver?.refundStatus = "available"
        sources[id]?.changed()
        for number in refunds.all
        where refunds[number].status == "pending" && refunds[number].waitsForSource == id {
            soon(.settleRefund(refunds[number].id))
        }
    }
}
