/// What happens by itself when its time has come.
///
/// A timer is never taken back: what it finds changed in the meantime it leaves alone.
enum SandboxTimer: Sendable {
    /// A test-mode name decides a pending source.
    case settleSource(String, status: String)
    /// A source dies unused: `pending` or `chargeable` for too long.
    case expireSource(String)
    /// A test-mode name sends money to a receiver.
    case paySource(String, amount: Int)
    /// A pending payment to a receiver arrives.
    case settleTransaction(String, source: String)
    /// The bank answers an asynchronous charge.
    case settleCharge(String, succeeds: Bool)
    /// An authorisation was never captured.
    case expireCharge(String)
    /// A refund arrives.
    case settleRefund(String)
    /// The bank answers a processing intent.
    case settleIntent(String)
    /// The customer never did what an intent asked for.
    case expireIntent(String)
    /// The bank answers a processing SetupIntent.
    case settleSetup(String)
    /// The customer never did what a SetupIntent asked for.
    case expireSetup(String)
    /// A webhook is tried (again).
    case attempt(Int)
}
