/// A fault that struck one request.
struct FaultStrike: Sendable {
    let plan: FaultRequest
    /// Ends when the fault is deleted; waited for by `hang` alone.
    let release: AsyncStream<Void>
}
