extension SandboxState {
    /// The same call made for the account an object belongs to: pages know no accounts.
    func owned(_ call: APICall, _ id: String) -> APICall {
        var call = call
        call.account = sources[id]?.account ?? intents[id]?.account ?? setups[id]?.account
        return call
    }
}
