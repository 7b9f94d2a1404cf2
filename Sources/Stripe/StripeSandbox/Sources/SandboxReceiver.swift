/// Where the customer of a receiver source sends the money, and what became of it.
struct SandboxReceiver {
    let address: String
    /// `email`, `manual` or `none`: how refund data is asked for.
    let refundMethod: String
    /// `missing`, `requested` or `available`.
    var refundStatus = "missing"
    var received = 0
    var charged = 0
    var returned = 0

    /// What can still be charged.
    var available: Int { received - charged - returned }

    func render(into writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("address", address)
            writer.field("amount_charged", charged)
            writer.field("amount_received", received)
            writer.field("amount_returned", returned)
            writer.field("refund_attributes_method", refundMethod)
            writer.field("refund_attributes_status", refundStatus)
        }
    }
}
