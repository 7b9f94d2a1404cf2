/// A notifier in a process of its own, so that its CPU and memory are not ours.
package protocol NotifierPeer: Sendable {
    /// Its process now.
    var pid: Int32 { get }
    /// Where its gateway listens, on the loopback interface; the same after each start.
    var gatewayPort: Int { get }

    /// Kills it (`kill -9`) and starts it again; returns when it listens.
    func restart() async throws

    /// Ends it.
    func stop()
}
