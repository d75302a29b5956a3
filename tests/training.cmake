# Tests of the training engine and what it is made of.

# The same as impart_test, for programs that use LibTorch.
function(impart_torch_test name)
  impart_test(${name} TORCH ${ARGN})
  impart_use_torch(${name})
  impart_compile_in_groups(${name})
endfunction()

find_program(IMPART_MPIRUN mpirun)
# Open MPI asks before it runs as root, or more processes than there are cores.
set(IMPART_MPI_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_rmaps_base_oversubscribe=1)

impart_test(comm_test
  SOURCES comm/exact_sum_test.cpp comm/launcher_test.cpp
    comm/single_test.cpp
  LIBRARIES impart::comm)
add_executable(comm_process_test comm/comm_process_test.cpp)
target_link_libraries(comm_process_test PRIVATE impart::comm impart::placement fmt::fmt impart_options)
add_executable(failing_job comm/failing_job.cpp)
target_link_libraries(failing_job PRIVATE impart::comm fmt::fmt impart_options)
if(IMPART_MPIRUN)
  foreach(processes 1 2 4 7)
    add_test(NAME comm_${processes}_processes
      COMMAND ${IMPART_MPIRUN} -n ${processes} $<TARGET_FILE:comm_process_test>)
    add_test(NAME comm_${processes}_processes_small_chunks
      COMMAND ${IMPART_MPIRUN} -n ${processes} $<TARGET_FILE:comm_process_test> small-chunks)
    set_tests_properties(comm_${processes}_processes comm_${processes}_processes_small_chunks
      PROPERTIES LABELS process ENVIRONMENT "${IMPART_MPI_ENVIRONMENT}" RUN_SERIAL ON)
  endforeach()
  impart_script_test(comm_failures process tests/comm/failure_test.py $<TARGET_FILE:failing_job>)
  set_tests_properties(comm_failures PROPERTIES ENVIRONMENT "${IMPART_MPI_ENVIRONMENT}" RUN_SERIAL ON)
endif()

impart_torch_test(feed_test
  SOURCES feed/batch_test.cpp feed/token_feed_test.cpp
  LIBRARIES impart::train)
impart_torch_test(models_test
  SOURCES models/models_test.cpp models/state_test.cpp models/torchvision_test.cpp
    models/worker_batch_norm_test.cpp models/worker_statistics_test.cpp
  LIBRARIES impart::models)
target_compile_definitions(models_test PRIVATE IMPART_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
impart_test(config_test
  SOURCES config/config_checks_test.cpp config/config_file_test.cpp config/config_text_test.cpp
    config/own_rows_test.cpp config/presets_test.cpp config/rules_test.cpp
    config/schema_test.cpp
  LIBRARIES impart::config)
target_compile_definitions(config_test PRIVATE IMPART_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
impart_test(run_test
  SOURCES run/checkpoint_test.cpp run/ledger_file_test.cpp run/metrics_log_test.cpp
    run/run_files_test.cpp run/summary_test.cpp run/tensorboard_test.cpp
  LIBRARIES impart::run)
target_compile_definitions(run_test PRIVATE IMPART_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
impart_torch_test(train_test
  SOURCES train/batch_signals_test.cpp train/engine_state_test.cpp train/engine_test.cpp
    train/evaluation_test.cpp train/language_engine_test.cpp train/learning_rate_test.cpp
    train/optimizer_test.cpp train/own_data_test.cpp train/own_model_test.cpp
    train/own_run_test.cpp train/run_results_test.cpp
  LIBRARIES impart::train)

# Whole runs, as a user starts them.
foreach(script resume bad_input)
  impart_script_test(train_${script} python tests/train/${script}_test.py $<TARGET_FILE:impart>)
  set_tests_properties(train_${script} PROPERTIES RUN_SERIAL ON)
endforeach()
add_test(NAME train_torchvision_load COMMAND ${IMPART_SYSTEM_PYTHON}
  ${CMAKE_CURRENT_SOURCE_DIR}/train/torchvision_load_test.py $<TARGET_FILE:impart>)
set_tests_properties(train_torchvision_load PROPERTIES LABELS python)
add_test(NAME train_learning COMMAND ${Python3_EXECUTABLE}
  ${CMAKE_CURRENT_SOURCE_DIR}/train/learning_test.py $<TARGET_FILE:impart>)
set_tests_properties(train_learning PROPERTIES LABELS python RUN_SERIAL ON)
add_test(NAME train_bad_examples COMMAND ${IMPART_SYSTEM_PYTHON}
  ${CMAKE_CURRENT_SOURCE_DIR}/train/bad_example_test.py $<TARGET_FILE:impart>)
set_tests_properties(train_bad_examples PROPERTIES LABELS process
  ENVIRONMENT "${IMPART_MPI_ENVIRONMENT}")
add_test(NAME train_memory COMMAND ${IMPART_SYSTEM_PYTHON}
  ${CMAKE_CURRENT_SOURCE_DIR}/train/memory_test.py $<TARGET_FILE:impart>)
set_tests_properties(train_memory PROPERTIES LABELS process RUN_SERIAL ON)
add_test(NAME train_store COMMAND ${IMPART_SYSTEM_PYTHON}
  ${CMAKE_CURRENT_SOURCE_DIR}/train/store_test.py $<TARGET_FILE:impart>)
set_tests_properties(train_store PROPERTIES LABELS process RUN_SERIAL ON
  ENVIRONMENT "${IMPART_MPI_ENVIRONMENT}")
impart_script_test(train_language process tests/train/language_test.py $<TARGET_FILE:impart>)
set_tests_properties(train_language PROPERTIES RUN_SERIAL ON ENVIRONMENT "${IMPART_MPI_ENVIRONMENT}")
if(IMPART_MPIRUN)
  impart_script_test(train_processes process tests/train/processes_test.py $<TARGET_FILE:impart>)
  set_tests_properties(train_processes PROPERTIES ENVIRONMENT "${IMPART_MPI_ENVIRONMENT}" RUN_SERIAL ON)
endif()
foreach(piece store data/images data/mds data/fetch data/text cost statistics study report models/text)
  add_subdirectory(${piece})
endforeach()
add_subdirectory(cuda)
add_subdirectory(install)
if(IMPART_PYTHON)
  add_subdirectory(python)
endif()
