import pollerd

await PollerdCommand.main()
