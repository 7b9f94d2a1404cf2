package import RedisClient

/// The operations of the queue, each one Lua script behind the common prelude.
///
/// Addressed by digest: two releases with different scripts run beside each other.
package struct Scripts: Sendable {
    let enqueue: RedisScript
    let mark: RedisScript
    let revise: RedisScript
    let claim: RedisScript
    let commit: RedisScript
    let release: RedisScript
    let hint: RedisScript
    let cancel: RedisScript
    let redrive: RedisScript
    let lane: RedisScript
    let control: RedisScript
    let explain: RedisScript
    let audit: RedisScript
    let beat: RedisScript
    let read: RedisScript
    let list: RedisScript
    let log: RedisScript
    let stats: RedisScript
    let ledger: RedisScript
    let settled: RedisScript
    let outboxGroup: RedisScript
    let confirm: RedisScript
    let trim: RedisScript
    let purge: RedisScript
    let sweepTake: RedisScript
    let sweepFinish: RedisScript
    let reads: RedisScript
    let remember: RedisScript
    let suppress: RedisScript
    let endpointCreate: RedisScript
    let endpointWrite: RedisScript
    let endpointChanges: RedisScript
    let endpointRead: RedisScript
    let endpointList: RedisScript

    /// Scripts on Redis' own clock.
    package static let live = Scripts(clock: nil)

    /// Scripts with the clock of a test: `key` holds the time in ms.
    ///
    /// The partition's hash tag is appended to it, so that the key is in the slot of each script.
    package static func virtual(clockKey key: String) -> Scripts {
        Scripts(
            clock: "local function clock() return tonumber(redis.call('GET', '\(key)' .. P)) end"
        )
    }

    /// Every script, for loading and checking them all.
    package var all: [RedisScript] {
        [
            enqueue, mark, revise, claim, commit, release, hint, cancel, redrive, lane, control,
            explain,
            audit, beat, read, list, log, stats, ledger, settled, outboxGroup, confirm, trim, purge,
            sweepTake, sweepFinish, reads, remember, suppress,
            endpointCreate, endpointWrite, endpointChanges, endpointRead, endpointList,
        ]
    }

    private init(clock: String?) {
        var prelude = String(decoding: PackageResources.prelude_lua, as: UTF8.self)
        if let clock {
            // The prelude keeps its clock on one line for this.
            prelude = prelude.split(separator: "\n", omittingEmptySubsequences: false)
                .map { $0.hasPrefix("local function clock()") ? clock : String($0) }
                .joined(separator: "\n")
        }
        let claiming = String(decoding: PackageResources.claiming_lua, as: UTF8.self)
        func script(_ resource: [UInt8], after library: String = "") -> RedisScript {
            let text = String(decoding: resource, as: UTF8.self)
            let lineEnd = text.firstIndex(of: "\n") ?? text.endIndex
            return RedisScript(
                source: "\(text[..<lineEnd])\n\(prelude)\(library)\(text[lineEnd...])"
            )
        }
        enqueue = script(PackageResources.enqueue_lua)
        mark = script(PackageResources.mark_lua)
        revise = script(PackageResources.revise_lua)
        claim = script(PackageResources.claim_lua, after: claiming)
        commit = script(PackageResources.commit_lua, after: claiming)
        release = script(PackageResources.release_lua)
        hint = script(PackageResources.hint_lua)
        cancel = script(PackageResources.cancel_lua)
        redrive = script(PackageResources.redrive_lua)
        lane = script(PackageResources.lane_lua)
        control = script(PackageResources.control_lua)
        explain = script(PackageResources.explain_lua)
        audit = script(PackageResources.audit_lua)
        beat = script(PackageResources.beat_lua)
        read = script(PackageResources.read_lua)
        list = script(PackageResources.list_lua)
        log = script(PackageResources.log_lua)
        stats = script(PackageResources.stats_lua)
        ledger = script(PackageResources.ledger_lua)
        settled = script(PackageResources.settled_lua)
        outboxGroup = script(PackageResources.outbox_group_lua)
        confirm = script(PackageResources.confirm_lua)
        trim = script(PackageResources.trim_lua)
        purge = script(PackageResources.purge_lua)
        // They concern accounts instead of partitions, and go by Redis' own clock.
        func plain(_ resource: [UInt8]) -> RedisScript {
            RedisScript(source: String(decoding: resource, as: UTF8.self))
        }
        sweepTake = plain(PackageResources.sweep_take_lua)
        sweepFinish = plain(PackageResources.sweep_finish_lua)
        reads = plain(PackageResources.reads_lua)
        remember = plain(PackageResources.remember_lua)
        suppress = plain(PackageResources.suppress_lua)
        endpointCreate = script(PackageResources.endpoint_write_lua)
        // What is registered may change and go also in a store that is full.
        endpointWrite = RedisScript(
            source: "#!lua flags=allow-oom" + endpointCreate.source.dropFirst("#!lua".count)
        )
        endpointChanges = script(PackageResources.endpoint_changes_lua)
        endpointRead = script(PackageResources.endpoint_read_lua)
        endpointList = script(PackageResources.endpoint_list_lua)
    }
}
