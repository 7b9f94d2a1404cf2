/// How far the customer got in confirming a code or the amounts of micro-deposits.
struct SandboxVerification {
    var attemptsRemaining = Microdeposits.attemptsMax
    var status = "pending"

    func render(into writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("attempts_remaining", attemptsRemaining)
            writer.field("status", status)
        }
    }
}
