/// Where the customer of a receiver source pushes the money.
struct SandboxReceiver {
    let address: String

    /// Amounts follow the status: everything arrives at once, and is charged at once.
    func render(into writer: inout JSONWriter, due: Int, status: String) {
        writer.object { writer in
            writer.field("address", address)
            writer.field("amount_charged", status == "consumed" ? due : 0)
            writer.field("amount_received", ["chargeable", "consumed"].contains(status) ? due : 0)
            writer.field("amount_returned", 0)
            writer.field("refund_attributes_method", "email")
            writer.field("refund_attributes_status", "missing")
        }
    }
}
