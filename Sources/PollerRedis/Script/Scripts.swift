package import RedisClient

/// The operations of the queue, each one Lua script after the common prelude.
///
/// They run as the functions of one library, or as single scripts if Redis supports no functions; the text is the same
/// (``ScriptTexts``). Both are addressed by digest, so two releases with different scripts can run at the same time.
package struct Scripts: Sendable {
    /// The name prefix of our libraries; others are left alone.
    static let libraryPrefix = "poller"

    /// All scripts as functions.
    package let library: RedisLibrary
    private let scripts: [ScriptName: RedisScript]
    /// Returns a replacement for some scripts; only tests set it.
    private var substitute: (@Sendable (ScriptName) -> RedisScript?)?

    /// The scripts on Redis' own clock.
    package static let live = Scripts(clock: nil)

    /// The scripts with the clock of a test: the key `<namespace>:clock{<partition>}` holds the time in ms.
    ///
    /// It is in the partition's slot, as every key of a script.
    package static let virtual = Scripts(clock: virtualClock)

    /// The line of the prelude that reads the time, in tests.
    static let virtualClock = """
        local function clock() return tonumber(redis.call('GET', \
        string.match(N, '^[^:]*:') .. 'clock' .. P)) end
        """

    private init(clock: String?) {
        let texts = ScriptTexts(clock: clock)
        let library = RedisLibrary(prefix: Self.libraryPrefix, body: texts.library)
        self.library = library
        scripts = Dictionary(
            uniqueKeysWithValues: ScriptName.allCases.map { name in
                let function = RedisFunction(name.rawValue, of: library)
                return (name, RedisScript(source: texts.source(of: name), function: function))
            }
        )
    }

    /// Every script, for loading and checking them all.
    package var all: [RedisScript] { ScriptName.allCases.map { self[$0] } }

    /// Returns these scripts, with a replacement where `substitute` returns one.
    ///
    /// It is called for each call, so a test can use the scripts of two releases on one store.
    func substituting(
        _ substitute: @escaping @Sendable (ScriptName) -> RedisScript?
    ) -> Scripts {
        var scripts = self
        scripts.substitute = substitute
        return scripts
    }

    subscript(name: ScriptName) -> RedisScript {
        if let other = substitute?(name) { return other }
        guard let script = scripts[name] else { preconditionFailure("made of every name") }
        return script
    }
}

extension Scripts: CustomStringConvertible, CustomDebugStringConvertible {
    /// The name of their library, because logs describe values that contain them.
    package var description: String { library.name }
    /// The same as ``description``.
    package var debugDescription: String { description }
}
